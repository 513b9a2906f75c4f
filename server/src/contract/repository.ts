import { z } from 'zod'
import { wholeNumber } from './whole-number.ts'

const Notes = z.array(z.string()).meta({
  description:
    'What could not be found out, as sentences: a host that does not answer, a token that has ended.',
})

export const ListRepositoriesQuery = z.object({
  query: z.string().max(512).optional().meta({ description: 'A part of its name or address.' }),
  limit: wholeNumber(1, 100).optional().meta({ description: '1 to 100, default 20.' }),
})
export type ListRepositoriesQuery = z.infer<typeof ListRepositoriesQuery>

export const HostRepository = z
  .object({
    url: z.string().meta({ description: 'Address by https, as requests take it.' }),
    name: z.string().meta({ description: 'Its path, such as `acme/site`.' }),
    host: z.string(),
    is_private: z.boolean(),
    default_branch: z.string().nullable(),
    secret_name: z.string().meta({ description: 'Of the secret that reaches it.' }),
  })
  .meta({ id: 'HostRepository', description: 'A repository at a git host.' })
export type HostRepository = z.infer<typeof HostRepository>

export const ListRepositoriesResponse = z
  .object({
    repositories: z.array(HostRepository),
    has_more: z.boolean().meta({
      description: 'Whether more match, or a host has more than were looked at: 300 for each secret.',
    }),
    notes: Notes,
  })
  .meta({ id: 'ListRepositoriesResponse' })
export type ListRepositoriesResponse = z.infer<typeof ListRepositoriesResponse>

export const ListBranchesQuery = z.object({
  repository: z.string().min(1).max(2048).meta({ description: 'Its address, or `owner/name` of GitHub.' }),
  query: z.string().max(256).optional().meta({ description: 'What the name begins with.' }),
})
export type ListBranchesQuery = z.infer<typeof ListBranchesQuery>

export const ListBranchesResponse = z
  .object({
    default_branch: z.string().nullable(),
    branches: z.array(z.string()).meta({ description: '100 at most.' }),
    notes: Notes,
  })
  .meta({ id: 'ListBranchesResponse' })
export type ListBranchesResponse = z.infer<typeof ListBranchesResponse>
