import { z } from 'zod'
import { RunState } from './state.ts'
import { Timestamp } from './timestamp.ts'

/** What a webhook is sent: thin, so that its receiver reads the run as it is by then. Signed as Standard Webhooks say. */
export const WebhookEvent = z
  .object({
    type: z.enum([
      'run.created',
      'run.started',
      'run.blocked',
      'run.succeeded',
      'run.failed',
      'run.errored',
      'run.cancelled',
    ]),
    timestamp: Timestamp,
    data: z.object({ run_id: z.string(), state: RunState }),
  })
  .meta({ id: 'WebhookEvent' })
export type WebhookEvent = z.infer<typeof WebhookEvent>
