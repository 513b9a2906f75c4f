import type { NewEvent } from '../contract/event.ts'
import { storableText } from '../contract/storable-text.ts'
import type { ExecChunk, ExecExit } from '../sandbox/sandbox.ts'
import type { Turn } from './harness.ts'
import { tellMemoryKills } from './memory-limit.ts'

const FLUSH_AFTER_MS = 100
const FLUSH_AT_BYTES = 65_536
/** Events of one batch: a program may change the stream with every byte. */
const MAX_EVENTS = 32

export interface CommandOptions {
  command: string
  timeout_ms: number
}

export interface CommandEnd extends ExecExit {
  duration_ms: number
  /** In words: processes were killed for the memory that the sandbox's together took. `null`: none was. */
  killed: string | null
  /** Both streams as text in the order of the events, without what the sandbox dropped. */
  text: string
  /** The same as the log shows it: no value is left where the sandbox dropped something, or where the streams took turns. */
  readMasked: () => string
}

/**
 * Runs a command in the turn's directory and streams what it prints as `tool.output`. The caller has stored the
 * `tool.call` and stores the `tool.result`. Ends early, with `aborted`, when the turn's signal fires. Throws when an
 * event cannot be stored (the command is killed first) and on `SandboxFault`.
 */
export async function runCommand(
  turn: Turn,
  tool_call_id: string,
  options: CommandOptions,
): Promise<CommandEnd> {
  const started = performance.now()
  const writer = new OutputWriter(turn, tool_call_id)
  const handle = turn.sandbox.exec({
    ...options,
    cwd: turn.run.cwd,
    signal: AbortSignal.any([turn.signal, writer.failed]),
  })
  // It may reject while output is still read, long before it is awaited below: that is not an unhandled rejection.
  handle.exit.catch(() => {})
  try {
    for await (const chunk of handle.output) writer.write(chunk)
  } finally {
    await writer.end()
  }
  const exit = await handle.exit
  return {
    ...exit,
    killed: await tellMemoryKills(turn.sandbox, exit),
    duration_ms: Math.round(performance.now() - started),
    text: writer.text,
    readMasked: () => writer.readMasked(),
  }
}

const GAP = '\n[… output was dropped here …]\n'

interface Piece {
  stream: ExecChunk['stream']
  text: string
  after_gap?: true
}

/**
 * Turns chunks of bytes into few events: one batch per 100 ms or 64 KiB, whichever comes first. Each stream keeps its
 * order; where they change more often than a batch has events, the rest of the batch is told one stream after the other.
 */
class OutputWriter {
  text = ''
  readonly #pieces: Piece[] = []
  readonly #turn: Turn
  readonly #tool_call_id: string
  // Each stream has its own decoder: a character may be cut by a chunk's end and the other stream may come between.
  readonly #decoders = { stdout: newDecoder(), stderr: newDecoder() }
  #pending: Piece[] = []
  #pendingBytes = 0
  #timer: NodeJS.Timeout | undefined
  readonly #sent: Array<Promise<void>> = []
  readonly #failure = new AbortController()

  constructor(turn: Turn, tool_call_id: string) {
    this.#turn = turn
    this.#tool_call_id = tool_call_id
  }

  /** Aborted once an event could not be stored. */
  get failed(): AbortSignal {
    return this.#failure.signal
  }

  write({ stream, data, after_gap }: ExecChunk): void {
    if (after_gap) {
      this.#goOn(stream, data)
      return
    }
    for (let start = 0; start < data.length; start += FLUSH_AT_BYTES) {
      const slice = data.subarray(start, start + FLUSH_AT_BYTES)
      this.#add(stream, this.#decoders[stream].decode(slice, { stream: true }), slice.length)
    }
  }

  /** Of the characters that the gap cut nothing is told: a value would not be known behind half a character. */
  #goOn(stream: ExecChunk['stream'], data: Uint8Array): void {
    this.#decoders[stream] = newDecoder()
    this.#flush()
    this.#pending.push({ stream, text: '', after_gap: true })
    const start = data.findIndex((byte) => (byte & 0xc0) !== 0x80)
    this.write({ stream, data: start > 0 && start < 4 ? data.subarray(start) : data })
  }

  /** Sends what is left and waits until all of it is stored. */
  async end(): Promise<void> {
    this.#add('stdout', this.#decoders.stdout.decode(), 0)
    this.#add('stderr', this.#decoders.stderr.decode(), 0)
    this.#flush()
    await Promise.all(this.#sent)
  }

  readMasked(): string {
    const { maskStream } = this.#turn
    const masks = { stdout: maskStream(), stderr: maskStream() }
    // It is behind what each stream printed before: both have one.
    const first_gap = this.#pieces.findIndex(({ after_gap }) => after_gap)
    const told = this.#pieces.map(({ stream, text, after_gap }, at) => {
      const before = (after_gap ? masks[stream].gap() : '') + (at === first_gap ? GAP : '')
      return before + masks[stream].push(text)
    })
    return [...told, masks.stdout.end(), masks.stderr.end()].join('').trimEnd()
  }

  #add(stream: ExecChunk['stream'], decoded: string, bytes: number): void {
    if (decoded === '') return
    if (this.#pendingBytes + bytes > FLUSH_AT_BYTES) this.#flush()
    const text = storableText(decoded)
    const last = this.#pending.at(-1)
    // The streams take turns, so the event before the last one is of the other stream.
    const place = this.#pending.length < MAX_EVENTS || last?.stream === stream ? last : this.#pending.at(-2)
    if (place?.stream === stream) place.text += text
    else this.#pending.push({ stream, text })
    this.#pendingBytes += bytes
    this.#timer ??= setTimeout(() => this.#flush(), FLUSH_AFTER_MS)
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#pending.length === 0) return
    const tool_call_id = this.#tool_call_id
    const events = this.#pending.map(
      (data): NewEvent => ({ type: 'tool.output', data: { tool_call_id, ...data } }),
    )
    for (const { text } of this.#pending) this.text += text
    this.#pieces.push(...this.#pending)
    this.#pending = []
    this.#pendingBytes = 0
    const sent = this.#turn.emit(...events)
    sent.catch((error) => this.#failure.abort(error))
    this.#sent.push(sent)
  }
}

// A leading byte order mark is part of the output like any other character.
const newDecoder = () => new TextDecoder('utf-8', { ignoreBOM: true })
