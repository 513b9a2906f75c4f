import { isRecord } from '../contract/storable-text.ts'

/**
 * Whether the transport itself says that it does not know the session of a call, so that nothing has run: 404 (MCP 2025-11-25,
 * "Session Management"), or 400 with a sentence that says this alone. What a tool says may speak of sessions too, and of more.
 */
export const tellsLostSession = (status: number, text: string): boolean =>
  status === 404 || (status === 400 && namesLostSession(reasonOf(text)))

/** What servers say for it, as they say it: `Bad Request: No valid session ID provided`, `Session not found`. */
export const namesLostSession = (sentence: string): boolean =>
  sentence.length <= 120 && SUBJECT.test(sentence) && SENTENCE.test(sentence)

const SUBJECT = /session|initialized/i
const SENTENCE = new RegExp(
  `^(?:(?:bad request|not found|error) ?: *)?(?:(?:${[
    ...[
      'mcp-session-id',
      'mcp',
      'session ?id',
      'session',
      'server',
      'id',
      'header',
      'the',
      'your',
      'a',
      'an',
      'or',
    ],
    ...[
      'no',
      'not',
      'valid',
      'invalid',
      'missing',
      'unknown',
      'unrecognized',
      'expired',
      'terminated',
      'required',
    ],
    ...['provided', 'found', 'exist', 'initialized', 'longer', 'yet', 'is', 'was', 'has', 'been', 'does'],
  ].join('|')})(?: +|[.!]?$))+$`,
  'i',
)

/** The words within an error of the protocol, or the text itself. */
export function reasonOf(text: string): string {
  try {
    const body: unknown = JSON.parse(text)
    const error = isRecord(body) ? body.error : undefined
    if (isRecord(error) && typeof error.message === 'string') return error.message.trim()
  } catch {
    // No JSON.
  }
  return text.trim()
}
