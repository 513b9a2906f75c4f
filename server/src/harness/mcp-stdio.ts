import { PassThrough } from 'node:stream'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { type ExecExit, type ExecHandle, quote, type Sandbox } from '../sandbox/sandbox.ts'
import { Asked, MAX_MESSAGE_BYTES, readMessages } from './mcp-message.ts'

/** What a server may send between two answers: a log, progress, or no end. */
const MAX_UNASKED_BYTES = 64 * 1024 ** 2
/** Of lines that have begun and not ended, of all servers of one sandbox together. */
const MAX_BEGUN_BYTES = 24 * 1024 ** 2
/** Pieces of a line that are kept apart: a server may write it byte by byte. */
const MAX_PIECES = 512
/** What may wait for a server that does not read. */
const MAX_WAITING_BYTES = 16 * 1024 ** 2
/** The end of what it printed, for whoever wants to know why it failed. */
const MAX_TAIL_BYTES = 4 * 1024

export interface StdioOptions {
  sandbox: Pick<Sandbox, 'exec'>
  command: string
  args: readonly string[]
  env: Readonly<Record<string, string>>
  cwd: string
  /** Aborting kills the server. */
  signal: AbortSignal
}

/** Bytes of begun lines, by the sandbox whose servers write them. */
const begun = new WeakMap<object, number>()

/**
 * A tool server as a process in the sandbox, spoken to in lines of JSON (MCP 2025-11-25, "stdio"). What it writes is a
 * stranger's: lines that are no messages are left out, and one without end ends the server.
 */
export class StdioTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void
  onclose?: () => void
  onerror?: (error: Error) => void
  readonly #options: StdioOptions
  readonly #input = new PassThrough()
  readonly #ended = Promise.withResolvers<void>()
  #handle: ExecHandle | null = null
  #over = false
  #was_closed = false
  #failure: string | null = null
  #exit: ExecExit | null = null
  #tail = Buffer.alloc(0)
  #line: Uint8Array[] = []
  #line_bytes = 0
  /** Of them, counted in `begun`. */
  #held_bytes = 0
  #unasked_bytes = 0
  /** The lines so far of what may be a message over several. */
  #spread: string[] | null = null
  #spread_characters = 0
  readonly #asked = new Asked()

  constructor(options: StdioOptions) {
    this.#options = options
  }

  /** How it ended, and the end of what it printed that was no message; `null` while it runs. */
  get ending(): string | null {
    if (!this.#over) return null
    return this.#failure ?? describeExit(this.#exit)
  }

  /** The same, where it was not ended from here: then something else was wrong before. */
  get own_ending(): string | null {
    return this.#was_closed ? null : this.ending
  }

  get printed(): string {
    return this.#tail.toString().trim()
  }

  async start(): Promise<void> {
    const { sandbox, command, args, env, cwd, signal } = this.#options
    this.#handle = sandbox.exec({
      command: `exec ${[command, ...args].map(quote).join(' ')}`,
      ...{ cwd, env: { ...env }, stdin: this.#input, signal },
      max_output_bytes: Number.POSITIVE_INFINITY,
    })
    void this.#read(this.#handle)
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#over) throw new Error('The server has ended.')
    if (this.#input.readableLength + this.#input.writableLength > MAX_WAITING_BYTES) {
      this.#fail('it does not read what it is sent')
      throw new Error('The server does not read what it is sent.')
    }
    this.#asked.add(message)
    this.#input.write(`${JSON.stringify(message)}\n`)
  }

  /** Ends its input, then it. */
  async close(): Promise<void> {
    this.#was_closed ||= !this.#over
    this.#input.end()
    await this.#handle?.kill()
    if (this.#handle) await this.#ended.promise
  }

  async #read(handle: ExecHandle): Promise<void> {
    for await (const { stream, data } of handle.output) {
      if (this.#failure !== null) continue
      if (stream === 'stderr') this.#keep(data)
      else this.#take(data)
    }
    this.#exit = await handle.exit.catch((error: unknown) => {
      this.#failure ??= error instanceof Error ? error.message : String(error)
      return null
    })
    this.#over = true
    this.#line = []
    this.#hold(0)
    this.#input.destroy()
    this.#ended.resolve()
    this.onclose?.()
  }

  #take(data: Uint8Array): void {
    this.#split(data)
    if (this.#failure !== null) return
    const all = this.#hold(this.#line_bytes)
    if (this.#line_bytes > MAX_MESSAGE_BYTES) this.#fail(TOO_LONG)
    else if (this.#unasked_bytes > MAX_UNASKED_BYTES) this.#fail('it sends without end')
    else if (all > MAX_BEGUN_BYTES) this.#fail('the messages of all tool servers together are too long')
  }

  /** Counts this server's begun line among those of its sandbox; what they are together. */
  #hold(bytes: number): number {
    const { sandbox } = this.#options
    const all = (begun.get(sandbox) ?? 0) + bytes - this.#held_bytes
    begun.set(sandbox, all)
    this.#held_bytes = bytes
    return all
  }

  #split(data: Uint8Array): void {
    this.#unasked_bytes += data.length
    let start = 0
    for (let end = data.indexOf(NEWLINE); end !== -1; end = data.indexOf(NEWLINE, start)) {
      this.#line.push(data.subarray(start, end))
      this.#readLine(Buffer.concat(this.#line))
      this.#line = []
      this.#line_bytes = 0
      start = end + 1
    }
    this.#line.push(data.subarray(start))
    this.#line_bytes += data.length - start
    if (this.#line.length > MAX_PIECES) this.#line = [Buffer.concat(this.#line)]
  }

  #readLine(line: Buffer): void {
    if (line.length > MAX_MESSAGE_BYTES) {
      this.#fail(TOO_LONG)
      return
    }
    const text = line.toString()
    const alone = MAY_BE_MESSAGE.test(text.slice(0, 64)) ? this.#readMessage(text) : []
    const messages = alone.length > 0 ? alone : this.#readSpread(text)
    if (messages === null) return
    if (messages.length === 0) this.#keep(Buffer.concat([line, Buffer.of(NEWLINE)]))
    // It was not one over several lines.
    this.#spread = null
    for (const message of messages) {
      this.onmessage?.(message)
      if (!('method' in message)) this.#unasked_bytes = 0
    }
  }

  #readMessage(text: string): JSONRPCMessage[] {
    return readMessages(text.replace(BEFORE_MESSAGE, ''), this.#asked)
  }

  /** Of a message that is printed over several lines, which the protocol has not; `null`: its end is still to come. */
  #readSpread(line: string): JSONRPCMessage[] | null {
    if (/^\W*[{[]\s*$/.test(line) && !this.#spread) {
      this.#spread = [line]
      this.#spread_characters = line.length
      return null
    }
    if (!this.#spread) return []
    this.#spread.push(line)
    this.#spread_characters += line.length
    if (this.#spread_characters > MAX_MESSAGE_BYTES) {
      this.#fail(TOO_LONG)
      return null
    }
    if (!/^[}\]]\s*$/.test(line)) return this.#spread.length < MAX_LINES ? null : []
    return this.#readMessage(this.#spread.join('\n'))
  }

  #keep(data: Uint8Array): void {
    this.#tail = Buffer.concat([this.#tail, data.subarray(-MAX_TAIL_BYTES)]).subarray(-MAX_TAIL_BYTES)
  }

  #fail(why: string): void {
    if (this.#failure !== null) return
    this.#failure = why
    this.#line = []
    this.#hold(0)
    void this.#handle?.kill()
  }
}

const NEWLINE = 0x0a
const MAX_LINES = 20_000
const TOO_LONG = 'it sent a message that is too long'
/** A mark of the byte order, blanks and escapes for colours are written before a message too. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is meant.
const BEFORE_MESSAGE = /^(?:[\ufeff\s]|\x1b\[[\d;?]*[A-Za-z])+/
const MAY_BE_MESSAGE = new RegExp(`(?:${BEFORE_MESSAGE.source})?[{[]`)

function describeExit(exit: ExecExit | null): string {
  if (exit?.code !== null && exit !== null) return `it ended with exit code ${exit.code}`
  return `it was ended by ${exit?.signal ?? 'a signal'}`
}
