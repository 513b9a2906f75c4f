import { z } from 'zod'
import { RunId } from './run-id.ts'

const place = z
  .int()
  .min(1)
  .max(2 ** 31 - 1)

export const ForkOf = z
  .object({
    run_id: RunId,
    sequence: place.optional().meta({
      description:
        'Of any event of its log: the end of a turn at it or before it counts. Default: its last turn.',
    }),
    turn: place.optional().meta({
      description: 'Instead of `sequence`: as it was when the agent had been given so many messages.',
    }),
  })
  .refine(({ sequence, turn }) => sequence === undefined || turn === undefined, {
    message: 'give sequence or turn, not both',
  })
  .meta({ id: 'ForkOf' })
export type ForkOf = z.infer<typeof ForkOf>

export const ForkedFrom = z
  .object({
    run_id: z.string(),
    sequence: z.int().meta({ description: 'The last event of its log that this run begins with.' }),
    turn: z.int().meta({ description: 'Messages that its agent had been given by then.' }),
  })
  .meta({ id: 'ForkedFrom', description: 'The end of the turn of an earlier run that this one began with.' })
export type ForkedFrom = z.infer<typeof ForkedFrom>
