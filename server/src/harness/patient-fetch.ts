import type { AnswerNotes } from './answer-notes.ts'
import { BrokenAnswer, wasSilent } from './broken-answer.ts'

export interface AnswerLimits {
  /** Where every answer is a stream of events, which errors never are: what the next one is like is kept there. */
  stream?: () => AnswerNotes | undefined
  /** How long nothing at all may come, before the answer begins or in the middle of it. */
  silence_ms: number
  /** It is no text: of it nothing is noted. */
  is_binary?: boolean
  max_answer_bytes?: number
  max_line_bytes?: number
}

const MIB = 2 ** 20
/** The longest answers there are, of 128,000 tokens, are about 40 MB where each token comes in an event of 300 bytes. */
const MAX_ANSWER_BYTES = 64 * MIB
/** Nobody can read an event before its line ends. The largest repeat a whole answer, or hold encrypted reasoning: below 1 MiB. */
const MAX_LINE_BYTES = 4 * MIB
const LINE_FEED = 10
/** How the interface of OpenAI, and all that are like it, end their streams. */
const LAST_EVENT = /(^|\n)data: ?\[DONE\]\s*$/
const LAST_EVENT_BYTES = 32
/** The end of the connection follows at once, so that it can be used again; some servers keep it open for ever. */
const ENDING_MS = 1_000
/** Pages of proxies and sign-ins. Other types are let pass: not all servers tell theirs right. */
const NO_STREAM = /^(text\/(html|xml)|application\/([\w.-]+\+)?xml)\b/i

/**
 * A `fetch` that gives an answer up when no byte of it comes for so long, whether it has begun or not, and when it goes on
 * without end. Its promise, or the reading of the body, then rejects with `BrokenAnswer`. It reads no further ahead than it
 * is read from, not beyond an event that says it is the last, and follows no redirect.
 */
export function createPatientFetch(limits: AnswerLimits): typeof globalThis.fetch {
  const { silence_ms } = limits
  return async (input, init) => {
    const stream = limits.stream?.()
    const gives_up = new AbortController()
    let timer: NodeJS.Timeout | undefined
    const listen = () => {
      clearTimeout(timer)
      timer = setTimeout(() => gives_up.abort(wasSilent(silence_ms)), silence_ms)
    }
    const signals = [gives_up.signal, ...(init?.signal ? [init.signal] : [])]
    listen()
    let response: Response
    try {
      // A redirect could carry the conversation and the key elsewhere.
      response = await fetch(input, { redirect: 'manual', ...init, signal: AbortSignal.any(signals) })
    } catch (error) {
      clearTimeout(timer)
      throw error
    }
    const notes = response.ok && !limits.is_binary ? stream : undefined
    stream?.begin(init?.headers, response)
    if (!response.body) {
      clearTimeout(timer)
      notes?.end()
      return response
    }
    const { status, statusText, headers } = response
    const reader = response.body.getReader()
    if (notes && NO_STREAM.test(headers.get('content-type') ?? '')) {
      const { value } = await reader.read().catch(() => ({ value: undefined }))
      clearTimeout(timer)
      if (value) notes.add(value)
      const wrong = notes.noStream()
      gives_up.abort(wrong)
      throw wrong
    }
    const measure = createMeasure(limits)
    const isLast = createEndFinder()
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        // Only what is waited for may be late: a reader who takes his time is not the provider's silence.
        listen()
        try {
          const { done, value } = await reader.read()
          if (done) {
            notes?.end()
            return controller.close()
          }
          notes?.add(value)
          const excess = measure(value)
          if (excess) {
            gives_up.abort(excess)
            throw excess
          }
          controller.enqueue(value)
          if (notes && isLast(value)) {
            notes.end(true)
            controller.close()
            void finish(reader, () => gives_up.abort())
          }
        } catch (error) {
          controller.error(error)
        } finally {
          clearTimeout(timer)
        }
      },
      async cancel(reason) {
        clearTimeout(timer)
        await reader.cancel(reason)
      },
    })
    return new Response(body, { status, statusText, headers })
  }
}

/** Of what comes in, one piece after the other: why it is too much. */
function createMeasure({
  max_answer_bytes = MAX_ANSWER_BYTES,
  max_line_bytes = MAX_LINE_BYTES,
}: AnswerLimits): (piece: Uint8Array) => BrokenAnswer | null {
  let answer = 0
  let line = 0
  return (piece) => {
    answer += piece.length
    const end = piece.lastIndexOf(LINE_FEED)
    line = end < 0 ? line + piece.length : piece.length - end - 1
    if (answer > max_answer_bytes) return tooLong('an answer', max_answer_bytes)
    return line > max_line_bytes ? tooLong('a line', max_line_bytes) : null
  }
}

/** Of what comes in, one piece after the other: whether it has come to the last event. */
function createEndFinder(): (piece: Uint8Array) => boolean {
  let end = Buffer.alloc(0)
  return (piece) => {
    end = Buffer.concat([end, piece.subarray(-LAST_EVENT_BYTES)]).subarray(-LAST_EVENT_BYTES)
    return LAST_EVENT.test(end.toString('latin1'))
  }
}

async function finish(reader: ReadableStreamDefaultReader, giveUp: () => void): Promise<void> {
  const timer = setTimeout(giveUp, ENDING_MS)
  try {
    while (!(await reader.read()).done);
  } catch {
    // It was given up: what it had to say was heard.
  } finally {
    clearTimeout(timer)
  }
}

// Perhaps it was caught in a circle; a model that never ends will not end by being asked for minutes.
const tooLong = (what: string, bytes: number): BrokenAnswer =>
  new BrokenAnswer(`The model provider sent ${what} that does not end: more than ${size(bytes)}.`, 1)

const size = (bytes: number): string => (bytes < MIB ? `${bytes} bytes` : `${bytes / MIB} MiB`)
