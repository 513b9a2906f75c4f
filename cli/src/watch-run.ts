import { randomUUID } from 'node:crypto'
import {
  APIConnectionError,
  type ApprovalDecision,
  InternalServerError,
  isTerminal,
  MAX_RECONNECTS,
  type PendingApproval,
  type RequestOptions,
  type RunItem,
  type RunStreamEvent,
} from '@runyard/client'
import { askChoice, askText } from './ask.ts'
import { cleanEvent } from './clean-answer.ts'
import { CommandFailure, EXIT } from './failure.ts'
import { Interrupts } from './interrupts.ts'
import { type OfferedAnswers, readOffer } from './offered-answers.ts'
import { Outage } from './outage.ts'
import type { Output } from './output.ts'
import { describeEnd } from './run-text.ts'
import { RunView } from './run-view.ts'
import type { Session } from './session.ts'

/** How long a connection may take to answer: a server behind a proxy that went silent is one that is away. */
export const ANSWER_MS = 15_000

export interface WatchOptions {
  /** Only what follows this sequence. */
  after?: number
  /** The server answered for this run just now, so it is there, and the run is not BLOCKED. */
  is_known?: boolean
  /** Only what follows the acceptance of this follow-up. */
  since_followup?: string
  /** All output of all commands, on a terminal too. */
  full?: boolean | undefined
}

/** How watching goes on after a Ctrl-C or a run that waits for an answer. */
type Decision = 'watch' | 'leave'

/**
 * Shows a run until it has ended, waits for a person whom nobody can ask here, or the watcher leaves. Returns the exit code:
 * 0 only for SUCCEEDED. As patient as `runs.wait` with a server that goes away meanwhile.
 */
export async function watchRun(
  session: Session,
  run_id: string,
  options: WatchOptions = {},
): Promise<number> {
  const watch = new RunWatch(session, run_id, options)
  try {
    return await watch.untilEnd()
  } catch (error) {
    const is_away = error instanceof APIConnectionError || error instanceof InternalServerError
    if (!is_away || !watch.is_under_way) throw error
    const after = watch.sequence > 0 ? ` --after ${watch.sequence}` : ''
    throw new CommandFailure(error.message, {
      hint: `the run may go on; see the rest of it with \`runyard follow ${session.output.id(run_id)}${after}\``,
      exit_code: EXIT.unreachable,
      cause: error,
    })
  } finally {
    watch.close()
  }
}

class RunWatch {
  /** The last event that was shown, or left out as asked. */
  sequence: number
  /** The server has answered for this run. */
  is_under_way: boolean
  #is_skipping: boolean
  /** The question that was shown last. */
  #offer: OfferedAnswers | null = null
  readonly #session: Session
  readonly #run_id: string
  readonly #options: WatchOptions
  readonly #view: RunView | null
  readonly #outage: Outage
  readonly #hangup = new AbortController()
  readonly #interrupts = new Interrupts()

  constructor(session: Session, run_id: string, options: WatchOptions) {
    const { output } = session
    this.#session = session
    this.#run_id = run_id
    this.#options = options
    this.sequence = options.after ?? 0
    this.#is_skipping = options.since_followup !== undefined
    this.is_under_way = options.is_known ?? false
    this.#view = output.format === 'text' ? new RunView(output, options) : null
    this.#outage = new Outage(output, this.#view)
  }

  /** The exit code. */
  async untilEnd(): Promise<number> {
    let ask_after = this.is_under_way ? undefined : await this.#orInterrupt(this.#begin())
    for (let next = this.#read(); ask_after !== 'interrupted'; ) {
      if (this.sequence === ask_after) {
        ask_after = undefined
        const decision = await this.#askIfBlocked()
        if (decision === 'interrupted') return this.#leave()
        if (decision === 'leave') break
      }
      const step = await Promise.race([next, this.#interrupts.next()])
      if (step === 'interrupted') {
        if ((await this.#decide()) === 'leave') return this.#leave()
        continue
      }
      if (step.done) break
      next = this.#read()
      if (this.#show(step.value)) ask_after = this.sequence
    }
    const run = ask_after === 'interrupted' ? ask_after : await this.#orInterrupt(this.#look())
    return run === 'interrupted' ? this.#leave() : this.#finish(run)
  }

  /** Whether the run waits for a person after this event. */
  #show(event: RunStreamEvent): boolean {
    const { output } = this.#session
    if ('sequence' in event) this.sequence = event.sequence
    this.#offer = readOffer(event) ?? this.#offer
    if (this.#is_skipping) {
      this.#is_skipping = !isFollowup(event, this.#options.since_followup)
      return false
    }
    if (this.#view) this.#view.show(output.raw ? event : cleanEvent(event))
    else if (output.format === 'ndjson') output.json(event)
    return event.type === 'run.state' && event.data.state === 'BLOCKED'
  }

  close(): void {
    this.#interrupts.close()
    this.#hangup.abort()
    this.#view?.cover(null)
    this.#view?.pause()
  }

  #events: AsyncGenerator<RunStreamEvent, void, undefined> | undefined
  #read(): Promise<IteratorResult<RunStreamEvent, void>> {
    this.#events ??= this.#session.client.runs.stream(this.#run_id, {
      after: this.#options.after,
      signal: this.#hangup.signal,
      timeout: ANSWER_MS,
      // The run exists, so the first connection deserves the patience of the others.
      maxRetries: MAX_RECONNECTS,
      maxReconnects: MAX_RECONNECTS,
      onConnection: (change) =>
        change.state === 'lost' ? this.#outage.begin(change.error) : this.#outage.end(),
    })
    const next = this.#events.next()
    // It may fail while a person is being asked, or after the last look; where it counts it is waited for.
    next.catch(() => {})
    return next
  }

  /** A first look. Where the log of a BLOCKED run ends: the event that says so may not be among those to come. */
  async #begin(): Promise<number | undefined> {
    const { runs } = this.#session.client
    const { signal } = this.#hangup
    const { state } = await runs.retrieve(this.#run_id, { signal })
    this.is_under_way = true
    if (state !== 'BLOCKED' || this.sequence === 0) return undefined
    for (let last = this.sequence; ; ) {
      const { events, has_more } = await runs.events(this.#run_id, { after: last, limit: 1000 }, { signal })
      last = events.at(-1)?.sequence ?? last
      if (!has_more) return last
    }
  }

  async #askIfBlocked(): Promise<Decision | 'interrupted'> {
    const run = await this.#orInterrupt(this.#look())
    // The question may be an older one, answered since.
    if (run === 'interrupted' || run.state !== 'BLOCKED') return run === 'interrupted' ? run : 'watch'
    if (!this.#canAsk) return 'leave'
    const { approval } = run.status_message ?? {}
    if (approval) return this.#askApproval(approval, run.status_message?.message ?? '')
    const reply = await this.#askReply(run.status_message?.message ?? 'The agent waits for your answer.')
    if (reply === null) return 'leave'
    const idempotencyKey = randomUUID()
    const sent = this.#patiently((options) =>
      this.#session.client.runs.followup(this.#run_id, { message: reply }, { ...options, idempotencyKey }),
    )
    return (await this.#orInterrupt(sent)) === 'interrupted' ? 'interrupted' : 'watch'
  }

  /** `message`: the question with its answers as the run has them. Null: the person answers later. */
  async #askReply(message: string): Promise<string | null> {
    // An earlier question may have been the last to offer any.
    const offer = this.#offer && message.startsWith(this.#offer.question) ? this.#offer : null
    this.#view?.note(`${this.#session.output.colors.yellow('?')} ${offer?.question ?? message}`)
    this.#view?.pause()
    try {
      if (offer) {
        const choices = offer.options.map((label, at) => ({ value: String(at), label }))
        const chosen = await askChoice('Your answer', [
          ...choices,
          { value: 'other', label: 'Another answer' },
        ])
        if (chosen !== 'other') return chosen === null ? null : (offer.options[Number(chosen)] ?? null)
      }
      return await askText('Your answer', 'Enter twice sends it. Leave it empty to answer later.')
    } finally {
      this.#view?.resume()
    }
  }

  async #askApproval({ approval_id }: PendingApproval, question: string): Promise<Decision | 'interrupted'> {
    this.#view?.note(`${this.#session.output.colors.yellow('?')} ${question}`)
    this.#view?.pause()
    const decision = await askChoice<ApprovalDecision>('May it?', [
      { value: 'allow_once', label: 'Yes, this time' },
      { value: 'allow_always', label: 'Yes, and do not ask again', hint: 'in this run, by the same rule' },
      { value: 'deny', label: 'No' },
    ])
    const reason = decision === 'deny' ? await askText('Why not?', 'For the agent; it may be empty.') : null
    this.#view?.resume()
    if (decision === null) return 'leave'
    const answer = { decision, ...(reason === null ? {} : { reason }) }
    const idempotencyKey = randomUUID()
    const sent = this.#patiently((options) =>
      this.#session.client.runs.answerApproval(this.#run_id, approval_id, answer, {
        ...options,
        idempotencyKey,
      }),
    )
    return (await this.#orInterrupt(sent)) === 'interrupted' ? 'interrupted' : 'watch'
  }

  /** Ctrl-C: a person may go on, leave or cancel; a script leaves, and the run goes on. */
  async #decide(): Promise<Decision> {
    if (!this.#canAsk) return 'leave'
    this.#view?.pause()
    const choice = await askChoice('The run goes on without you. What now?', [
      { value: 'leave', label: 'Detach', hint: 'it goes on; runyard follow shows it again' },
      { value: 'cancel', label: 'Cancel the run' },
      { value: 'watch', label: 'Keep watching' },
    ])
    // A second Ctrl-C is answer enough.
    if (choice === null || choice === 'leave') return 'leave'
    if (choice === 'cancel') {
      const { runs } = this.#session.client
      const run = await runs.retrieve(this.#run_id)
      if (!isTerminal(run.state)) await runs.cancel(this.#run_id)
    }
    this.#view?.resume()
    return 'watch'
  }

  get #canAsk(): boolean {
    return this.#session.output.interactive && this.#view !== null
  }

  #look = (): Promise<RunItem> =>
    this.#patiently((options) => this.#session.client.runs.retrieve(this.#run_id, options))

  /** Says so when the server does not answer, and tries on. */
  async #patiently<T>(call: (options: RequestOptions) => Promise<T>): Promise<T> {
    const { signal } = this.#hangup
    try {
      return await call({ signal })
    } catch (error) {
      if (!(error instanceof APIConnectionError)) throw error
      this.#outage.begin(error)
      const value = await call({ signal, maxRetries: MAX_RECONNECTS })
      this.#outage.end()
      return value
    }
  }

  #orInterrupt<T>(value: Promise<T>): Promise<T | 'interrupted'> {
    value.catch(() => {})
    return Promise.race([value, this.#interrupts.next()])
  }

  #finish(run: RunItem): number {
    const { output } = this.#session
    this.#view?.finish(describeEnd(run, output))
    if (output.format === 'json') output.json(run)
    if (run.status_message?.approval)
      output.note(`Allow it: runyard approve ${output.id(this.#run_id)} --wait (or --deny "why")`)
    else if (run.state === 'BLOCKED') output.note(sayHowToGoOn(run, output))
    return exitCodeOf(run)
  }

  #leave(): number {
    this.#view?.cover(null)
    this.#session.output.note(
      `The run goes on. See it again: runyard follow ${this.#session.output.id(this.#run_id)}`,
    )
    return EXIT.interrupted
  }
}

function sayHowToGoOn({ run_id, status_message }: RunItem, output: Output): string {
  const id = output.id(run_id)
  const waits_for = status_message?.waits_for
  if (waits_for === 'budget') return `Go on: runyard message ${id} "…" --max-tokens N --wait`
  return `${waits_for === 'message' ? 'Go on' : 'Answer it'}: runyard message ${id} "…" --wait`
}

const EXIT_CODES: Partial<Record<string, number>> = {
  SUCCEEDED: EXIT.ok,
  CANCELLED: EXIT.cancelled,
  BLOCKED: EXIT.blocked,
}

export const exitCodeOf = (run: RunItem): number => EXIT_CODES[run.state] ?? EXIT.failed

const isFollowup = (event: RunStreamEvent, followup_id: string | undefined): boolean =>
  event.type === 'followup.accepted' && event.data.followup_id === followup_id
