import { isTerminal, type RunItem, type RunStreamEvent } from '@runyard/client'
import { EXIT } from './failure.ts'
import { describeEnd } from './run-text.ts'
import { RunView } from './run-view.ts'
import type { Session } from './session.ts'

export interface WatchOptions {
  /** Only what follows this sequence. */
  after?: number
  /** Only what follows the acceptance of this follow-up. */
  since_followup?: string
  /** All output of all commands, on a terminal too. */
  full?: boolean | undefined
}

/** How watching went on after a Ctrl-C or a run that waits for an answer. */
type Decision = 'watch' | 'leave'

/**
 * Shows a run until it has ended, waits for a person whom nobody can ask here, or the watcher leaves. Returns the exit code:
 * 0 only for SUCCEEDED.
 */
export async function watchRun(
  session: Session,
  run_id: string,
  options: WatchOptions = {},
): Promise<number> {
  const { client, output } = session
  const view = output.format === 'text' ? new RunView(output, options) : null
  const hangup = new AbortController()
  const events = client.runs.stream(run_id, { after: options.after, signal: hangup.signal })
  const interrupts = new Interrupts()
  let skipping = options.since_followup !== undefined
  try {
    for (let next = events.next(); ; ) {
      // It may fail while a person is being asked; the race below is where that counts.
      next.catch(() => {})
      const step = await Promise.race([next, interrupts.next()])
      if (step === 'interrupted') {
        view?.pause()
        if ((await decide(session, run_id)) === 'leave') return leave(session, run_id)
        view?.resume()
        continue
      }
      if (step.done) break
      next = events.next()
      if (skipping) {
        skipping = !isFollowup(step.value, options.since_followup)
        continue
      }
      if (view) view.show(step.value)
      else if (output.format === 'ndjson') output.json(step.value)
      if (step.value.type !== 'run.state' || step.value.data.state !== 'BLOCKED') continue
      const blocked = await client.runs.retrieve(run_id)
      // An older question, answered since.
      if (blocked.state !== 'BLOCKED') continue
      view?.pause()
      if ((await answer(session, blocked)) === 'leave') break
      view?.resume()
    }
    const run = await client.runs.retrieve(run_id)
    view?.finish(describeEnd(run, output))
    if (output.format === 'json') output.json(run)
    if (run.state === 'BLOCKED') output.note(`Answer it: runyard message ${run_id} "…" --wait`)
    return exitCodeOf(run)
  } finally {
    interrupts.close()
    hangup.abort()
    view?.pause()
  }
}

export function exitCodeOf(run: RunItem): number {
  if (run.state === 'SUCCEEDED') return EXIT.ok
  return run.state === 'CANCELLED' ? EXIT.cancelled : EXIT.failed
}

const isFollowup = (event: RunStreamEvent, followup_id: string | undefined): boolean =>
  event.type === 'followup.accepted' && event.data.followup_id === followup_id

/** Ctrl-C: a person may go on, leave or cancel; a script leaves, and the run goes on. */
async function decide({ client, output }: Session, run_id: string): Promise<Decision> {
  if (!output.interactive || output.format !== 'text') return 'leave'
  const { isCancel, select } = await import('@clack/prompts')
  const choice = await select({
    message: 'The run goes on without you. What now?',
    options: [
      { value: 'leave', label: 'Detach', hint: 'it goes on; runyard follow shows it again' },
      { value: 'cancel', label: 'Cancel the run' },
      { value: 'watch', label: 'Keep watching' },
    ],
  })
  // A second Ctrl-C is answer enough.
  if (isCancel(choice) || choice === 'leave') return 'leave'
  if (choice === 'cancel') {
    const run = await client.runs.retrieve(run_id)
    if (!isTerminal(run.state)) await client.runs.cancel(run_id)
  }
  return 'watch'
}

/** Asks the person at the terminal for the answer the run waits for. */
async function answer({ client, output }: Session, run: RunItem): Promise<Decision> {
  if (!output.interactive || output.format !== 'text') return 'leave'
  const { isCancel, text } = await import('@clack/prompts')
  const message = output.clean(run.status_message?.message ?? 'The agent waits for your answer.')
  const reply = await text({ message, placeholder: 'empty: answer later' })
  if (isCancel(reply) || !reply?.trim()) return 'leave'
  await client.runs.followup(run.run_id, { message: reply })
  return 'watch'
}

function leave({ output }: Session, run_id: string): number {
  output.note(`The run goes on. See it again: runyard follow ${run_id}`)
  return EXIT.interrupted
}

/** Ctrl-C as something to wait for, instead of the end of the process. */
class Interrupts {
  #pending = 0
  #resolve: (() => void) | null = null
  readonly #onSignal = () => {
    this.#pending += 1
    this.#resolve?.()
  }

  constructor() {
    process.on('SIGINT', this.#onSignal)
  }

  async next(): Promise<'interrupted'> {
    if (this.#pending === 0) await new Promise<void>((resolve) => (this.#resolve = resolve))
    this.#pending = 0
    return 'interrupted'
  }

  close(): void {
    process.off('SIGINT', this.#onSignal)
  }
}
