import { z } from 'zod'
import { flag } from './flag.ts'
import { ListRunsQuery, RunSourceType, TaskStatus } from './run.ts'
import { Title } from './run-request.ts'
import { RunState } from './state.ts'

export const DeleteRunQuery = z.object({
  cancel: flag().optional().meta({
    description:
      'Whether a run that has not ended is cancelled first, with all below it. Without it such a run is refused: 409.',
  }),
})

export const DeleteRunResponse = z
  .object({
    run_id: z.string(),
    deleted: z.int().meta({ description: 'The run, and those below it.' }),
  })
  .meta({ id: 'DeleteRunResponse' })
export type DeleteRunResponse = z.infer<typeof DeleteRunResponse>

const { limit: _, cursor: __, sort_by: ___, sort_order: ____, ...FILTERS } = ListRunsQuery.shape

/** In a body lists are lists. */
const ONE_OF_EACH = {
  state: z.array(RunState).min(1).max(64).optional(),
  source: z.array(RunSourceType).min(1).max(64).optional(),
  task_status: z.array(TaskStatus).min(1).max(64).optional(),
  factory_uid: z.array(z.string().max(256)).min(1).max(64).optional(),
  factory_only: z.boolean().optional(),
  needs_attention: z.boolean().optional(),
}

/** A misspelled filter would delete more than was meant, so unknown fields are refused. */
export const DeleteRunsRequest = z
  .strictObject({
    ...FILTERS,
    ...ONE_OF_EACH,
    archived: z
      .enum(['true', 'false', 'all'])
      .optional()
      .meta({ description: 'Default `all`, where the list has `false`.' }),
    all: z.boolean().optional().meta({
      description: 'That there is no filter on purpose: every run that the caller may see and delete.',
    }),
    cancel: z.boolean().optional().meta({
      description:
        'Whether runs that have not ended are cancelled first, with all below them. Without it they stay, and `open` counts them.',
    }),
    dry_run: z.boolean().optional().meta({ description: 'Only count: nothing is cancelled or deleted.' }),
  })
  .meta({
    id: 'DeleteRunsRequest',
    description: 'The filters of `GET /agent/runs`. They combine with AND, and one at least is needed.',
  })
export type DeleteRunsRequest = z.infer<typeof DeleteRunsRequest>

export const DeleteRunsResponse = z
  .object({
    dry_run: z.boolean(),
    count: z.int().meta({
      description:
        'Runs that this call deleted, those below them included; of a dry run, all that calls would delete.',
    }),
    open: z.int().meta({
      description:
        'Runs that match and stay: they have not ended, or a run below them has not. With `cancel` they are being stopped, and a later call deletes them.',
    }),
    has_more: z.boolean().meta({
      description: 'There are more to delete: call again. A call deletes the oldest 200 that match.',
    }),
  })
  .meta({ id: 'DeleteRunsResponse' })
export type DeleteRunsResponse = z.infer<typeof DeleteRunsResponse>

export const UpdateRunRequest = z
  .strictObject({
    title: Title.refine((title) => title.trim() !== '', { message: 'must not be empty' }),
  })
  .meta({ id: 'UpdateRunRequest' })
export type UpdateRunRequest = z.infer<typeof UpdateRunRequest>
