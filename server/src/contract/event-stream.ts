import { z } from 'zod'
import { flag } from './flag.ts'
import { listOf } from './run.ts'
import { RunId } from './run-id.ts'

/** Runs that one stream may follow. */
export const MOST_FOLLOWED = 200

export const StreamEventsQuery = z.object({
  run_ids: listOf(RunId, MOST_FOLLOWED)
    .optional()
    .meta({ description: 'Of the runs to follow; repeated or separated by commas.' }),
  ancestor_run_id: RunId.optional().meta({
    description:
      'Follow the runs below this one, at any depth. For the whole tree name it in `run_ids` as well.',
  }),
  since: z.string().min(1).max(4096).optional().meta({
    description:
      'Only what happened after this moment (RFC 3339), or what follows this cursor: the id of an event of such a stream.',
  }),
  follow: flag().optional().meta({ description: 'Keep the stream open after the end of all runs.' }),
})
