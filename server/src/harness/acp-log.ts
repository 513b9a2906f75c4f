import { randomUUID } from 'node:crypto'
import type { EventData, NewEvent } from '../contract/event.ts'
import { isRecord, storableRecord, storableText } from '../contract/storable-text.ts'
import { closeInterrupted } from '../log/interruption.ts'
import { SandboxFileError } from '../sandbox/sandbox.ts'
import { namesOf } from './acp-permissions.ts'
import { type AgentUpdate, type CallUpdate, pieceOf, readCall, terminalOf, textOf } from './acp-update.ts'
import { describePart } from './content-part.ts'
import { clip, shorten } from './cut-text.ts'
import type { Execution } from './harness.ts'
import { StreamedText } from './streamed-text.ts'
import { isTooDeep, makeCallId, TOO_DEEP } from './tool-call.ts'

const MAX_OUTPUT = 100_000
/** Of one message; what is longer goes on in another. */
const MAX_TEXT = 500_000
/** Of what was said last, in which a result is looked for. */
const MAX_SAID = 1_000_000
/** Events on their way to the log at which the agent is made to wait. */
const MAX_PENDING = 64
const MAX_INPUT = 1_000_000

interface Block {
  type: 'message.assistant' | 'reasoning'
  message_id: string
  /** As the agent names it, where it does. */
  theirs: string | undefined
  text: string
  shown: StreamedText
}

interface Call {
  tool_call_id: string
  name: string
  /** Of what it does, as the agent said last. */
  kind: string | undefined
  title: string
  input: unknown
  /** What its event says of the input. */
  stored: unknown
  shown: string
  state: 'announced' | 'open' | 'closed'
  began: number
}

export interface AnnouncedCall extends EventData<'tool.call'> {
  /** Its event had another input: some agents say what a call does after they have begun to talk of it. */
  is_late: boolean
  /** Of its tool, as rules may name it. */
  names: string[]
}

type Surroundings = Pick<Execution, 'emit' | 'delta' | 'mask' | 'sandbox'>

/** Makes events of an agent's updates, in their order. */
export class AcpLog {
  readonly #execution: Surroundings
  /** Of files that agents show. */
  readonly #kept = new Set<string>()
  readonly #taken: Set<string>
  readonly #calls = new Map<string, Call>()
  #block: Block | null = null
  #tail: Promise<unknown> = Promise.resolve()
  readonly #onFailed: () => void
  #failure: { error: unknown } | null = null
  #stopped: string | null = null
  #pending = 0
  #said = ''

  /** `taken`: ids of calls that the log knows. `onFailed`: an event could not be stored; `settle` tells why. */
  constructor(execution: Surroundings, taken: Iterable<string>, onFailed: () => void) {
    this.#execution = execution
    this.#taken = new Set(taken)
    this.#onFailed = onFailed
  }

  /** What the agent said last, without a call behind it. */
  get said(): string {
    return this.#said
  }

  /** A call was begun that has not ended. */
  get is_calling(): boolean {
    return [...this.#calls.values()].some(({ state }) => state === 'open')
  }

  add(update: AgentUpdate): void {
    if (update.sessionUpdate === 'agent_message_chunk') this.#addText('message.assistant', update)
    else if (update.sessionUpdate === 'agent_thought_chunk') this.#addText('reasoning', update)
    else this.#addCall(update, { prints: update.sessionUpdate === 'tool_call_update' })
  }

  /** What ends from here on was stopped, as `closing` says. */
  stop(closing: string): void {
    this.#stopped = closing
  }

  /** Resolves when the call that the agent asks for is stored; `null`: it cannot be read. */
  async announce(told: unknown): Promise<AnnouncedCall | null> {
    const update = readCall(told)
    const call = update && this.#addCall(update, { opens: true })
    await this.settle()
    return (
      call && {
        ...this.#dataOf(call),
        is_late: call.stored !== call.input,
        names: namesOf(call.name, call.kind, call.input),
      }
    )
  }

  /** Ends the text at work, and calls that are open as `closing` says. Rejects where something could not be stored. */
  async end(closing: string | null): Promise<void> {
    this.#endText()
    for (const call of this.#calls.values()) {
      if (call.state === 'announced' && closing === null) this.#open(call)
      if (call.state !== 'open') continue
      call.state = 'closed'
      const { tool_call_id } = call
      const data = closing
        ? closeInterrupted(tool_call_id, closing)
        : { tool_call_id, is_error: false, output: '(the agent did not say how the call ended)' }
      this.#emit({ type: 'tool.result', data })
    }
    this.#calls.clear()
    await this.settle()
  }

  /** Never fails: whoever has an event to store hears of it. */
  async ready(): Promise<void> {
    if (this.#pending >= MAX_PENDING) await this.#tail
  }

  /** Resolves when all so far is stored. */
  async settle(): Promise<void> {
    await this.#tail
    if (this.#failure) throw this.#failure.error
  }

  #addText(
    type: Block['type'],
    {
      content,
      messageId,
    }: Extract<AgentUpdate, { sessionUpdate: 'agent_message_chunk' | 'agent_thought_chunk' }>,
  ): void {
    const told = this.#tellPart(content)
    if (told === '') return
    const theirs = messageId ?? undefined
    if (this.#block && (this.#block.type !== type || this.#block.theirs !== theirs)) this.#endText()
    this.#block ??= { type, message_id: randomUUID(), theirs, text: '', shown: new StreamedText() }
    const block = this.#block
    // What is no text stands in lines of its own.
    const gap = block.text === '' || block.text.endsWith('\n\n') ? '' : '\n\n'
    const piece = content.type === 'text' ? told : `${gap}${told}\n\n`
    block.text += piece
    const shown = type === 'message.assistant' ? block.shown.add(piece) : ''
    if (block.text.length >= MAX_TEXT) this.#endText()
    else if (shown !== '') this.#execution.delta(block.message_id, shown)
  }

  /** A block of content as text. Pictures, sound and files are kept as artifacts of the run, once each. */
  #tellPart(content: unknown): string {
    const { text, file } = describePart(content)
    if (!file || this.#kept.has(file.path)) return text
    this.#kept.add(file.path)
    this.#store(this.#write(file))
    return text
  }

  async #write({ path, bytes }: { path: string; bytes: Buffer }): Promise<void> {
    try {
      await this.#execution.sandbox.writeFile(path, bytes)
    } catch (error) {
      if (!(error instanceof SandboxFileError)) throw error
      const text = `[${path} could not be kept: ${error.code}]`
      await this.#execution.emit({ type: 'message.assistant', data: { message_id: randomUUID(), text } })
    }
  }

  #endText(): void {
    const block = this.#block
    this.#block = null
    if (!block || block.text.trim() === '') return
    const { type, message_id } = block
    if (type === 'message.assistant') this.#said = (this.#said + block.text).slice(-MAX_SAID)
    this.#emit({ type, data: { message_id, text: storableText(block.text) } })
  }

  /** `prints`: what the update shows is of the call's work, not of what it is going to do. */
  #addCall(update: CallUpdate, { opens = false, prints = false }): Call {
    const call = this.#calls.get(update.toolCallId) ?? this.#announce(update.toolCallId)
    if (call.state === 'closed') return call
    call.name = nameOf(update) ?? call.name
    call.kind = update.kind ?? call.kind
    call.title = update.title ?? call.title
    if (hasInput(update.rawInput)) call.input = update.rawInput
    // Some say the command in the title alone, and ask with that.
    if (opens && call.kind === 'execute' && !hasInput(call.input) && call.title !== '')
      call.input = { command: call.title }
    const { status } = update
    // Until it begins, its input is still being written.
    if (opens || (status && status !== 'pending')) this.#open(call)
    const piece = pieceOf(update)
    if (piece !== '' && call.state === 'announced') this.#open(call)
    if (piece !== '') this.#show(call, call.shown + piece)
    const text = textOf(update.content, (part) => this.#tellPart(part))
    if (status === 'completed' || status === 'failed') this.#close(call, update, text)
    else if (call.state === 'open' && prints) this.#show(call, text)
    return call
  }

  #announce(theirs: string): Call {
    this.#endText()
    this.#said = ''
    const tool_call_id = makeCallId(theirs, this.#taken, this.#execution.mask)
    const call: Call = {
      ...{ tool_call_id, name: 'tool', kind: undefined, title: '', input: {}, stored: null, shown: '' },
      ...{ state: 'announced', began: performance.now() },
    }
    this.#calls.set(theirs, call)
    return call
  }

  #open(call: Call): void {
    if (call.state !== 'announced') return
    this.#endText()
    call.state = 'open'
    call.began = performance.now()
    call.stored = call.input
    this.#emit({ type: 'tool.call', data: this.#dataOf(call) })
  }

  #dataOf({ tool_call_id, name, title, input }: Call): EventData<'tool.call'> {
    return {
      tool_call_id,
      name: storableText(name),
      input: inputOf(input),
      ...(title === ''
        ? {}
        : { title: storableText(shorten(title.split('\n')[0] ?? '', this.#execution.mask)) }),
    }
  }

  /** An update holds all that there is so far. */
  #show(call: Call, text: string): void {
    if (call.shown.length >= MAX_OUTPUT || !text.startsWith(call.shown)) return
    const more = text.slice(call.shown.length, MAX_OUTPUT)
    if (more === '') return
    call.shown += more
    const { tool_call_id } = call
    this.#emit({ type: 'tool.output', data: { tool_call_id, stream: 'stdout', text: storableText(more) } })
  }

  #close(call: Call, update: CallUpdate, text: string): void {
    const { status, rawOutput } = update
    const said = unfence(text) || rawText(rawOutput) || call.shown
    const fits = said.length <= MAX_OUTPUT && said.startsWith(call.shown)
    if (fits) this.#show(call, said)
    call.state = 'closed'
    // Some call what was cut off completed.
    if (this.#stopped !== null) {
      this.#emit({ type: 'tool.result', data: closeInterrupted(call.tool_call_id, this.#stopped) })
      return
    }
    const exit_code = exitOf(rawOutput) ?? exitOf(terminalOf(update, 'terminal_exit'))
    const data: EventData<'tool.result'> = {
      tool_call_id: call.tool_call_id,
      is_error: status === 'failed',
      duration_ms: Math.round(performance.now() - call.began),
      ...(exit_code === null ? {} : { exit_code }),
      ...(fits ? {} : { output: storableText(clip(said, MAX_OUTPUT, this.#execution.mask)) }),
    }
    this.#emit({ type: 'tool.result', data })
  }

  #emit(event: NewEvent): void {
    this.#store(this.#failure ? Promise.resolve() : this.#execution.emit(event))
  }

  #store(stored: Promise<unknown>): void {
    this.#pending += 1
    this.#tail = Promise.all([this.#tail, stored])
      .catch((error) => {
        if (this.#failure) return
        this.#failure = { error }
        this.#onFailed()
      })
      .finally(() => {
        this.#pending -= 1
      })
  }
}

const hasInput = (input: unknown): boolean =>
  input !== undefined && input !== null && !(isRecord(input) && Object.keys(input).length === 0)

/** Agents name a tool in several places, or only say of what kind it is. */
function nameOf({ name, kind, _meta }: CallUpdate): string | undefined {
  const inner = _meta?.claudeCode ?? _meta?.codex
  const told = isRecord(inner) ? inner.toolName : _meta?.toolName
  return name ?? (typeof told === 'string' ? told : undefined) ?? kind ?? undefined
}

function inputOf(raw: unknown): Record<string, unknown> {
  if (isTooDeep(raw)) return { malformed: TOO_DEEP }
  if ((JSON.stringify(raw) ?? '').length > MAX_INPUT) return { malformed: 'Longer than can be kept.' }
  return storableRecord(isRecord(raw) ? raw : { input: raw })
}

/** Some write what a command printed as Markdown. */
const unfence = (text: string): string => /^```\w*\n([\s\S]*?)\n?```$/.exec(text)?.[1] ?? text

function rawText(raw: unknown): string {
  if (typeof raw === 'string') return raw
  if (!isRecord(raw)) return ''
  const said = [raw.output, raw.formatted_output, raw.stdout, raw.error].find(
    (part) => typeof part === 'string' && part !== '',
  )
  return typeof said === 'string' ? said : ''
}

function exitOf(raw: unknown): number | null {
  if (!isRecord(raw)) return null
  const inner = isRecord(raw.metadata) ? raw.metadata : {}
  const code = [raw.exit_code, raw.exitCode, inner.exit, inner.exitCode].find(Number.isSafeInteger)
  return typeof code === 'number' ? code : null
}
