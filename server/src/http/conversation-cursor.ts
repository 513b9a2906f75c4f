import { AppError } from '../contract/error.ts'
import { isUuid } from '../contract/run-id.ts'
import type { StepPlace } from '../log/conversation.ts'
import { brokenCursor, decodeCursor, encodeCursor } from '../store/cursor.ts'
import type { LogPart } from '../store/runs.ts'

/** Where a page of a conversation begins: after which event, when that was, and how far the steps had come there. */
export interface ConversationPlace {
  after: LogPart & { at: string }
  begin: StepPlace
}

export const writeConversationCursor = (
  conversation_id: string,
  { after, begin }: ConversationPlace,
): string =>
  encodeCursor([conversation_id, after.run_id, after.sequence, after.at, begin.step, begin.has_begun])

export function readConversationCursor(conversation_id: string, cursor: string): ConversationPlace {
  const [of, run_id, sequence, at, step, has_begun] = decodeCursor(cursor, 6)
  const is_place = typeof run_id === 'string' && isUuid(run_id) && isCount(sequence)
  if (!is_place || !isCount(step) || typeof has_begun !== 'boolean' || typeof at !== 'string')
    throw brokenCursor()
  if (of !== conversation_id)
    throw new AppError('invalid_request', 'cursor: belongs to another conversation.')
  return { after: { run_id, sequence, at }, begin: { step, has_begun } }
}

const isCount = (value: unknown): value is number =>
  Number.isInteger(value) && typeof value === 'number' && value >= 1 && value < 2 ** 31
