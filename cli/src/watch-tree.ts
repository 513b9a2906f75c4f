import { MAX_RECONNECTS, type RunStreamEvent } from '@runyard/client'
import { cleanEvent } from './clean-answer.ts'
import { EXIT } from './failure.ts'
import { Interrupts } from './interrupts.ts'
import { oneLine } from './one-line.ts'
import { Outage } from './outage.ts'
import type { Output } from './output.ts'
import { describeEnd } from './run-text.ts'
import { RunView } from './run-view.ts'
import type { Session } from './session.ts'
import { ANSWER_MS, exitCodeOf } from './watch-run.ts'

const LABEL_LENGTH = 8

/**
 * Shows a run and all below it, line by line, until all have ended or the watcher leaves. Each line begins with the end of its
 * run's id. Returns the exit code of the first run. Nobody is asked anything: what waits for a person is said.
 */
export async function watchTree(
  session: Session,
  run_id: string,
  options: { full?: boolean | undefined } = {},
): Promise<number> {
  const { client, output } = session
  const hangup = new AbortController()
  const interrupts = new Interrupts()
  const outage = new Outage(output, null)
  const views = new Map<string, RunView>()
  const viewOf = (event: RunStreamEvent): RunView => {
    const known = views.get(event.run_id)
    if (known) return known
    const labelled = labelOutput(output, event.run_id.slice(-LABEL_LENGTH))
    labelled.line(output.colors.bold(`run ${output.id(event.run_id)}`))
    const view = new RunView(labelled, options)
    views.set(event.run_id, view)
    return view
  }
  const show = (event: RunStreamEvent): void => {
    if (output.format === 'ndjson') output.json(event)
    else if (output.format === 'text') viewOf(event).show(output.raw ? event : cleanEvent(event))
    if (event.type !== 'run.state' || event.data.state !== 'BLOCKED') return
    output.note(
      `The run ${output.id(event.run_id)} waits: answer it with \`runyard message\`, or \`runyard approve\` what it asks for.`,
    )
  }
  const read = async (): Promise<void> => {
    const events = client.runs.streamMany({
      run_ids: [run_id],
      ancestor_run_id: run_id,
      signal: hangup.signal,
      timeout: ANSWER_MS,
      maxReconnects: MAX_RECONNECTS,
      onConnection: (change) => (change.state === 'lost' ? outage.begin(change.error) : outage.end()),
    })
    for await (const event of events) show(event)
  }
  try {
    const reading = read()
    reading.catch(() => {})
    if ((await Promise.race([reading, interrupts.next()])) === 'interrupted') {
      output.note(`The runs go on. See them again: runyard follow --tree ${output.id(run_id)}`)
      return EXIT.interrupted
    }
    const run = await client.runs.retrieve(run_id)
    if (output.format === 'json') output.json(run)
    else if (output.format === 'text')
      labelOutput(output, run_id.slice(-LABEL_LENGTH)).line(describeEnd(run, output))
    return exitCodeOf(run)
  } finally {
    interrupts.close()
    hangup.abort()
  }
}

/** Whole lines with something before each; empty ones are left out, since many runs take turns. */
function labelOutput(output: Output, label: string): Output {
  const write = (text: string): void => {
    const lines = text.split('\n').filter((line) => line.trim())
    for (const line of lines) output.write(`${output.colors.cyan(oneLine(label))} ${line}\n`)
  }
  return {
    ...output,
    terminal: false,
    interactive: false,
    columns: () => undefined,
    write,
    line: (text = '') => write(text),
    eraseLine: () => {},
  }
}
