import { z } from 'zod'
import { Timestamp } from './timestamp.ts'

export const MergeMethod = z.enum(['merge', 'squash', 'rebase']).meta({
  id: 'MergeMethod',
  description:
    '`merge`: a merge commit. `squash`: one commit. `rebase`: its commits one by one, on GitHub alone; on GitLab the project has a say in all of them.',
})
export type MergeMethod = z.infer<typeof MergeMethod>

export const PullRequestItem = z
  .object({
    url: z.string().meta({ description: 'Its page.' }),
    repository: z.string().meta({ description: 'Host and path, such as `github.com/acme/shop`.' }),
    number: z.int(),
    branch: z.string(),
    commit: z.string().meta({ description: 'What the run pushed last.' }),
    state: z.enum(['open', 'merged', 'closed', 'unknown']).meta({
      description: '`unknown`: the host could not be asked; `note` says why.',
    }),
    title: z.string().optional(),
    base: z.string().optional().meta({ description: 'The branch that it is to be merged into.' }),
    is_draft: z.boolean().optional(),
    head_commit: z.string().optional().meta({
      description: 'What would be merged: another than `commit` where somebody else has pushed to it since.',
    }),
    mergeable: z.boolean().nullable().optional().meta({
      description: 'Of an open one. `null`: the host is finding out.',
    }),
    note: z.string().optional().meta({ description: 'What stands in the way, or is worth knowing.' }),
    merged_at: Timestamp.optional(),
    merge_method: MergeMethod.optional().meta({
      description: 'How it would be merged here; absent: it is merged at the host alone.',
    }),
  })
  .meta({ id: 'PullRequestItem' })
export type PullRequestItem = z.infer<typeof PullRequestItem>

export const ListPullRequestsResponse = z
  .object({ pull_requests: z.array(PullRequestItem) })
  .meta({ id: 'ListPullRequestsResponse' })

export const MergePullRequestRequest = z
  .object({
    url: z.string().max(2_000).optional().meta({
      description: 'Which one; needed where the run has opened several.',
    }),
    commit: z
      .string()
      .regex(/^[0-9a-f]{40,64}$/, 'must be a whole commit id')
      .optional()
      .meta({
        description: 'What was looked at: nothing else is merged. Default: what the run pushed last.',
      }),
    base: z.string().max(1_000).optional().meta({
      description: 'The branch that it was to be merged into then: it is merged into no other.',
    }),
  })
  .meta({ id: 'MergePullRequestRequest' })
  .nullish()
export type MergePullRequestRequest = z.infer<typeof MergePullRequestRequest>
