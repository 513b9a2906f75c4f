import { z } from 'zod'
import { GitRef } from './git-ref.ts'
import { looksLikeAddress, RepositoryUrl } from './repository-address.ts'

/** One path segment, so that a repository can only land directly below the workspace. */
const Directory = z
  .string()
  .max(128)
  .regex(/^(?![.-])[A-Za-z0-9._-]+$/, 'must be one plain folder name')

export const EnvironmentRepository = z
  .object({
    url: RepositoryUrl.optional(),
    local_path: z.string().max(4096).optional().meta({
      description:
        'A repository of the worker’s machine, below its RUNYARD_LOCAL_REPOS and outside its data directory.',
    }),
    ref: GitRef.optional().meta({
      description:
        'Branch, tag, whole ref (`refs/pull/7/head`) or id of a commit, whole or its beginning; default: the default branch.',
    }),
    depth: z
      .int()
      .min(0)
      .max(1_000_000)
      .optional()
      .meta({ description: 'Commits of history; default 1, 0 is all.' }),
    submodules: z.boolean().optional().meta({
      description:
        'Of a repository with `url`: whether its submodules are cloned as well; default false. Private ones need to be repositories of the environment.',
    }),
    directory: Directory.optional().meta({
      description: 'Folder below /workspace; default: the name of the repository.',
    }),
  })
  .check((ctx) => {
    const { url, local_path, submodules } = ctx.value
    if (local_path !== undefined && looksLikeAddress(local_path))
      ctx.issues.push({
        ...{ code: 'custom', path: ['local_path'], input: local_path },
        message: 'is an address: that belongs into url',
      })
    const refuse = (message: string) => ctx.issues.push({ code: 'custom', message, input: ctx.value })
    if ((url === undefined) === (local_path === undefined))
      refuse('must have exactly one of url and local_path')
    if (submodules && !url) refuse('must have a url to have submodules')
  })
  .meta({ id: 'EnvironmentRepository' })
export type EnvironmentRepository = z.infer<typeof EnvironmentRepository>
