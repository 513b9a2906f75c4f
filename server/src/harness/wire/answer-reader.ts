import { isRecord } from '../../contract/storable-text.ts'
import { asRecord, isText } from './values.ts'

/**
 * Reads the events of one answer, as a server sends them, and gives them on as the provider's client expects them. What is not
 * needed of an event is left out or put right: it is no reason to discard an answer that is whole.
 */
export interface AnswerReader {
  /** Takes one event and gives none, one or more in its place. */
  read(event: Record<string, unknown>): Array<Record<string, unknown>>
  /** `said`: the server said that this was all, by `[DONE]`. What is to come before the end. */
  end(said: boolean): Array<Record<string, unknown>>
  /** A whole answer in one piece, from a server that does not stream, as events; `null`: it is none. */
  readWhole(answer: Record<string, unknown>): Array<Record<string, unknown>> | null
}

/** Whether an event, or a body in place of an answer, tells of an error. */
export function tellsError(event: Record<string, unknown>): boolean {
  const { error, errors, type, object, code, message, detail, choices, candidates } = event
  // MiniMax sends this with every answer, and 0 means that all went well.
  if (Number(asRecord(event.base_resp).status_code ?? 0) !== 0) return true
  // Baidu's errors come with the status 200 and neither choices nor `error`.
  if (choices === undefined && event.error_code !== undefined && isText(event.error_msg)) return true
  if (type === 'error' || object === 'error') return true
  if (typeof error === 'string' ? error !== '' : isRecord(error) && Object.keys(error).length > 0) return true
  if (Array.isArray(errors) && errors.length > 0) return true
  if (choices !== undefined || candidates !== undefined || type !== undefined) return false
  return detail !== undefined || (typeof message === 'string' && Number(code) >= 400)
}
