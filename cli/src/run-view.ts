import type { MessageDeltaEvent, RunEvent, RunStreamEvent } from '@runyard/client'
import { TextCleaner } from './clean-text.ts'
import { readEdit } from './edit-diff.ts'
import { nextTry, noteOf } from './event-note.ts'
import { MarkdownWriter, renderMarkdown } from './markdown.ts'
import { oneLine } from './one-line.ts'
import type { Output } from './output.ts'
import { formatPlan, type PlanStep, pinPlan, readPlan } from './plan-view.ts'
import { indent, paintState } from './run-text.ts'
import { StatusLine } from './status-line.ts'
import { formatDuration } from './time-text.ts'
import {
  describeResult,
  FOLDED_LINES,
  fold,
  foldChange,
  linesOfResult,
  ToolBlock,
  type ToolCall,
  type ToolResult,
} from './tool-block.ts'
import { hang } from './wrap.ts'

type DataOf<T extends RunEvent['type']> = Extract<RunEvent, { type: T }>['data']
type Kind = 'text' | 'tool' | 'step' | 'user'

/** A message on its way. */
interface OpenMessage {
  length: number
  held: string
  cleaner: TextCleaner
  markdown: MarkdownWriter
}

export interface ViewOptions {
  /** All output of all commands, on a terminal too. */
  full?: boolean | undefined
  /** What is shown has happened: no spinner, and states are lines. */
  past?: boolean | undefined
}

const QUOTED_LINES = 6
/** In place of a call's id, of a step of the setup. */
const SETUP = ''
const WAITING: Partial<Record<string, string>> = {
  QUEUED: 'Waiting for a worker',
  CLAIMED: 'Preparing the sandbox',
  INPROGRESS: 'Working',
}

/** In what an agent says a carriage return ends a line, where a progress bar would begin its line again: nothing it said is hidden. */
const splitReturns = (text: string): string => text.replace(/\r(?!\n)/g, '\n')

/**
 * Shows a run as it happens. On a terminal the agent's text appears while it is written, a running command is one line with a
 * spinner, and its output is folded when it ends; elsewhere everything is whole lines in the order of the log.
 */
export class RunView {
  readonly #output: Output
  readonly #full: boolean
  readonly #status: StatusLine
  readonly #tools = new Map<string, ToolBlock>()
  /** Text shown so far of messages on their way. */
  readonly #open = new Map<string, OpenMessage>()
  #kind: Kind | null = null
  /** The failure of the provider that was told last, and how often it came again. */
  #failing: { message: string; more: number } | null = null
  #is_paused = false
  /** The message whose unfinished line is the last one on the terminal. */
  #writing: string | null = null
  /** The last call was shown with output, so a blank line follows it. */
  #is_tall = false
  /** The call whose output is the last thing shown, where output is not folded. */
  #current: string | null = null
  /** The step of the setup that is under way, and what it prints. */
  #step: ToolBlock | null = null

  /** The plan as the agent keeps it now, which is shown in place of the one before. */
  #plan: PlanStep[] | null = null
  readonly #past: boolean
  /** The run that is shown, for the command that shows all of it; it is named once. */
  #run_id = ''
  #told_whole = false

  constructor(output: Output, { full = false, past = false }: ViewOptions = {}) {
    this.#output = output
    this.#full = full
    this.#past = past
    this.#status = new StatusLine(past ? { ...output, terminal: false } : output)
    this.#status.pin(() => (this.#plan ? pinPlan(this.#plan, output) : []))
  }

  show(event: RunStreamEvent): void {
    if (event.type === 'retrying' && this.#isSameFailure(event.data)) return
    this.#tellTries()
    this.#run_id = event.run_id
    switch (event.type) {
      case 'message.assistant.delta':
        this.#delta(event.data)
        break
      case 'message.assistant':
        this.#message(event.data)
        break
      case 'message.user':
        this.#userMessage(event.data)
        break
      case 'reasoning':
        this.#block('text', this.#dim(this.#fold(event.data.text.trim().split('\n')).join('\n')))
        break
      case 'tool.call':
        this.#toolCall(event.data, event.occurred_at)
        break
      case 'tool.output':
        this.#toolOutput(event.data)
        break
      case 'tool.result':
        this.#toolResult(event.data, event.occurred_at)
        break
      case 'setup':
        this.#setup(event.data, event.occurred_at)
        break
      case 'setup.output':
        this.#setupOutput(event.data)
        break
      case 'run.state':
        this.#state(event.data)
        break
      case 'retrying':
        this.#failing = { message: event.data.message, more: 0 }
        this.#note(noteOf(event, this.#output))
        break
      case 'attempt.lost':
      case 'debug.ended':
        // Its messages and calls are over, or begin anew.
        this.#endLine()
        this.#open.clear()
        this.#tools.clear()
        this.#step = null
        this.#note(noteOf(event, this.#output))
        break
      default:
        this.#note(noteOf(event, this.#output))
    }
  }

  /** Leaves the terminal to someone else, such as a question. */
  pause(): void {
    this.#endLine()
    this.#is_paused = true
    this.#status.pause()
  }

  resume(): void {
    if (this.#is_paused) this.#output.write('\n')
    this.#is_paused = false
    this.#status.resume()
  }

  /** Says below everything what is wrong with the connection, until it is null. */
  cover(text: (() => string) | null): void {
    if (text) this.#endLine()
    this.#status.cover(text)
  }

  /** A line about the watching, not of the run. */
  note(text: string): void {
    if (!this.#is_paused) this.#note(text)
  }

  /** What was under way when the log ended. */
  leaveOpen(): void {
    this.#tellTries()
    for (const block of this.#tools.values())
      this.#block('tool', [`▸ ${block.title}`, ...this.#gutter(this.#fold(block.takeRest()))].join('\n'))
    this.#tools.clear()
    const step = this.#step?.takeRest() ?? []
    if (this.#step)
      this.#block('tool', [`▸ ${this.#step.title}`, ...this.#gutter(this.#fold(step))].join('\n'))
  }

  /** The last words about the run, after a blank line. */
  finish(text: string): void {
    this.#tellTries()
    this.#endLine()
    this.#status.hide()
    if (this.#plan && this.#pins()) this.#block('step', formatPlan(this.#plan, this.#output).join('\n'), true)
    this.#plan = null
    this.#output.write(`${this.#kind === null ? '' : '\n'}${text}\n`)
  }

  /** A provider that fails again in the same way is counted, on a terminal where the eye is, and told once when it is over. */
  #isSameFailure(failure: DataOf<'retrying'>): boolean {
    const failing = this.#failing
    if (failing?.message !== failure.message) return false
    failing.more += 1
    this.#wait(`The same again, ${nextTry(failure)}`)
    return true
  }

  #tellTries(): void {
    const { more } = this.#failing ?? { more: 0 }
    this.#failing = null
    if (more > 0) this.#note(this.#dim(`↻ The same ${more} more ${more === 1 ? 'time' : 'times'}`))
  }

  #delta({ message_id, text }: MessageDeltaEvent['data']): void {
    // Half a line cannot be shown where lines are the unit; the whole message follows.
    if (!this.#output.terminal) return
    const open = this.#open.get(message_id) ?? this.#openMessage()
    this.#open.set(message_id, open)
    if (this.#writing !== message_id) {
      this.#begin('text')
      this.#status.hide()
      this.#writing = message_id
    }
    const told = open.held + text
    // Half of a line's end, it may be.
    open.held = told.endsWith('\r') ? '\r' : ''
    const piece = told.slice(0, told.length - open.held.length)
    open.length += piece.length
    this.#output.write(this.#output.raw ? piece : open.markdown.push(open.cleaner.push(splitReturns(piece))))
  }

  #openMessage = (): OpenMessage => ({
    ...{ length: 0, held: '', cleaner: new TextCleaner() },
    markdown: new MarkdownWriter(this.#output),
  })

  #message({ message_id, text }: DataOf<'message.assistant'>): void {
    const open = this.#open.get(message_id)
    const rest = this.#clean(splitReturns(text.slice(open?.length ?? 0)))
    if (this.#writing !== message_id) {
      this.#open.delete(message_id)
      this.#block('text', this.#renders() ? renderMarkdown(rest.trim(), this.#output) : rest.trim())
      return
    }
    this.#output.write(this.#output.raw || !open ? rest.trimEnd() : open.markdown.push(rest.trimEnd()))
    this.#endLine()
    this.#open.delete(message_id)
    this.#wait('Working')
  }

  #userMessage({ text, author }: DataOf<'message.user'>): void {
    // A run that was started with a skill may have no prompt.
    if (text.trim() === '' && !author) return
    const lines = text.trim().split('\n')
    const shown =
      this.#full || lines.length <= QUOTED_LINES + 1 ? lines : [...lines.slice(0, QUOTED_LINES), '…']
    const { colors } = this.#output
    const quoted = shown.map((line, at) =>
      `${at === 0 ? colors.cyan('›') : ' '} ${hang(colors.bold(line), 2, this.#output.columns())}`.trimEnd(),
    )
    if (author) quoted[0] += this.#dim(`  (${oneLine(author)})`)
    this.#block('user', quoted.join('\n'))
  }

  #toolCall(call: ToolCall, occurred_at: string): void {
    const block = new ToolBlock(call, Date.parse(occurred_at), this.#output)
    this.#tools.set(call.tool_call_id, block)
    const plan = readPlan(call)
    if (plan) this.#plan = plan
    if (this.#folds()) this.#showRunning()
    else this.#open_block(call.tool_call_id, block)
  }

  #toolOutput({ tool_call_id, text }: DataOf<'tool.output'>): void {
    const block = this.#tools.get(tool_call_id)
    if (!block) return
    block.add(text)
    if (this.#folds()) return
    const lines = block.takeLines()
    if (lines.length === 0) return
    if (this.#current !== tool_call_id) this.#open_block(tool_call_id, block)
    this.#print(this.#gutter(lines))
  }

  #toolResult(result: ToolResult, occurred_at: string): void {
    const block = this.#tools.get(result.tool_call_id)
    if (!block) return
    this.#tools.delete(result.tool_call_id)
    const { colors } = this.#output
    const mark = result.is_error ? colors.red('✗') : colors.green('✓')
    const outcome = describeResult(result, Date.parse(occurred_at) - block.started_at)
    const painted = result.is_error ? colors.red(outcome) : this.#dim(outcome)
    const rest = block.takeRest()
    const plan = readPlan(block.call)
    const change = result.is_error ? [] : this.#changeOf(block.call)
    // Both say what was done.
    const is_told = plan !== null || change.length > 0
    const told = is_told && !result.is_error ? [] : this.#fold(linesOfResult(result, block.printed))
    if (this.#folds()) {
      if (plan && this.#pins()) {
        this.#showRunning()
        return
      }
      const steps = plan ? formatPlan(plan, this.#output) : []
      const shown = [...this.#fold(rest), ...told]
      this.#block('tool', `${mark} ${block.title}  ${painted}`, this.#is_tall)
      this.#print([...this.#gutter(shown), ...this.#aside([...change, ...steps])])
      this.#is_tall = shown.length + change.length + steps.length > 0
      this.#showRunning()
      return
    }
    if (this.#current !== result.tool_call_id) this.#open_block(result.tool_call_id, block)
    this.#print([
      ...this.#gutter([...rest, ...told]),
      ...this.#aside([...change, ...(plan ? formatPlan(plan, this.#output) : [])]),
      `  ${mark} ${painted}`,
    ])
    this.#current = null
  }

  #changeOf(call: ToolCall): string[] {
    const lines = readEdit(call)
    if (!this.#full && this.#folds()) return foldChange(lines, this.#output, this.#wholeOf(lines.length))
    return foldChange(lines, { ...this.#output, columns: () => undefined })
  }

  #setup({ phase, name, status, ...ended }: DataOf<'setup'>, occurred_at: string): void {
    const { colors } = this.#output
    const what = phase === 'command' ? `$ ${name.split('\n', 1)[0]}` : oneLine(`${phase} ${name}`)
    if (status === 'started') {
      const input = phase === 'command' ? { command: name } : {}
      const call = {
        tool_call_id: SETUP,
        name: phase,
        title: phase === 'command' ? '' : oneLine(name),
        input,
      }
      const block = new ToolBlock(call, Date.parse(occurred_at), this.#output)
      this.#step = block
      const since = Date.now()
      this.#endLine()
      this.#status.show(() => `${what}  ${formatDuration(Date.now() - since)}  ${block.last_line}`.trimEnd())
      return
    }
    const step = this.#step
    this.#step = null
    const time = ended.duration_ms === undefined ? '' : formatDuration(ended.duration_ms)
    const code = typeof ended.exit_code === 'number' ? `exit code ${ended.exit_code}` : 'failed'
    const outcome =
      status === 'failed' ? colors.red([code, time].filter(Boolean).join(' · ')) : this.#dim(time)
    const mark = status === 'failed' ? colors.red('✗') : colors.green('✓')
    const rest = step?.takeRest() ?? []
    if (step?.printed && !this.#folds()) {
      if (this.#current !== SETUP) this.#open_block(SETUP, step)
      this.#print([...this.#gutter(rest), `  ${mark} ${outcome}`])
      this.#current = null
      return
    }
    if (status === 'finished') {
      this.#note(`${mark} ${what}  ${outcome}`.trimEnd())
      return
    }
    const { output = '', first_error } = ended
    const shown = output.trim() ? this.#fold(output.trimEnd().split('\n')) : []
    // What was printed after it may have pushed it out.
    const first =
      first_error && !shown.some((line) => line.includes(first_error)) ? [oneLine(first_error), '…'] : []
    this.#block('step', [`${mark} ${what}  ${outcome}`, ...this.#gutter([...first, ...shown])].join('\n'))
  }

  #setupOutput({ text }: DataOf<'setup.output'>): void {
    const step = this.#step
    if (!step) return
    step.add(text)
    if (this.#folds()) {
      step.takeLines()
      return
    }
    const lines = step.takeLines()
    if (lines.length === 0) return
    if (this.#current !== SETUP) this.#open_block(SETUP, step)
    this.#print(this.#gutter(lines))
  }

  #state({ state, attempt }: DataOf<'run.state'>): void {
    const waiting = WAITING[state]
    if (!this.#output.terminal || this.#past) {
      const again = state === 'CLAIMED' && attempt > 1 ? this.#dim(` attempt ${attempt}`) : ''
      this.#block('step', `${this.#dim('·')} ${paintState(state, this.#output.colors)}${again}`)
    }
    if (waiting) this.#wait(waiting)
    else this.#status.hide()
  }

  /** Whether calls are shown when they end, with their output folded. */
  #folds = (): boolean => this.#output.terminal && !this.#full

  /** Whether the plan stands in one place, above the spinner. */
  #pins = (): boolean => this.#folds() && !this.#past

  /** Whether somebody reads this on a terminal. */
  #renders = (): boolean => this.#output.columns() !== undefined && !this.#output.raw

  #fold(lines: readonly string[]): string[] {
    if (this.#full && this.#output.terminal) return [...lines]
    return fold(lines, this.#output, this.#wholeOf(lines.length))
  }

  /** The command that shows all, where something is left out for the first time. */
  #wholeOf(count: number): string {
    if (!this.#output.terminal || count <= FOLDED_LINES + 1 || this.#told_whole) return ''
    this.#told_whole = true
    return `runyard logs ${this.#output.id(this.#run_id)} --full`
  }

  #open_block(id: string, block: ToolBlock): void {
    const again = this.#current !== null || this.#kind === 'tool'
    this.#block('tool', `${this.#output.colors.cyan('▸')} ${block.title}`, again)
    this.#current = id
    if (this.#output.terminal) this.#wait(block.title)
  }

  #showRunning(): void {
    const running = [...this.#tools.values()]
    const [first] = running
    if (!first) {
      this.#wait('Working')
      return
    }
    this.#endLine()
    this.#status.show(() => {
      const time = formatDuration(Date.now() - first.started_at)
      const more = running.length > 1 ? ` and ${running.length - 1} more` : ''
      return `${first.title}  ${time}${more}  ${first.last_line}`
    })
  }

  #wait(text: string): void {
    this.#endLine()
    const since = Date.now()
    this.#status.show(() => `${text}  ${formatDuration(Date.now() - since)}`)
  }

  /** Whole lines, parted by a blank line from another kind of block, and from one of the same kind when asked. */
  #block(kind: Kind, text: string, apart = kind === 'text'): void {
    if (!text) return
    this.#begin(kind, apart)
    this.#print([text])
  }

  #note(text: string): void {
    this.#block('step', hang(text, 2, this.#output.columns()))
  }

  #begin(kind: Kind, apart = true): void {
    this.#endLine()
    if (this.#kind !== null && (apart || this.#kind !== kind)) this.#print([''])
    this.#kind = kind
    this.#current = null
  }

  #print(lines: readonly string[]): void {
    if (lines.length > 0) this.#status.print(`${lines.join('\n')}\n`)
  }

  #endLine(): void {
    if (this.#writing !== null) {
      const rest = this.#output.raw ? '' : (this.#open.get(this.#writing)?.markdown.end() ?? '')
      this.#output.write(`${rest}\n`)
    }
    this.#writing = null
  }

  #gutter = (lines: readonly string[]): string[] => lines.map((line) => this.#dim(indent(`│ ${line}`)))
  /** Beside the gutter in its own colours. */
  #aside = (lines: readonly string[]): string[] => lines.map((line) => `${this.#dim('  │')} ${line}`)
  #clean = (text: string): string => this.#output.clean(text)
  #dim = (text: string): string => this.#output.colors.dim(text)
}
