import type { RunItem } from '@runyard/client'
import type { Command } from 'commander'
import { currentProcess } from '../current-process.ts'
import { EXIT } from '../failure.ts'
import { Interrupts } from '../interrupts.ts'
import { oneLine } from '../one-line.ts'
import type { Output } from '../output.ts'
import { paintState } from '../run-text.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { exitCodeOf } from '../watch-run.ts'

export function addWaitCommand(program: Command): void {
  addClientOptions(
    program
      .command('wait <run-id...>')
      .summary('wait until runs end')
      .description(
        'Waits, without showing them, until all these runs have ended or wait for a person, and prints each as it does. Ends as `run` does for the first of them that did not succeed, or with 0.',
      ),
  ).action(async (run_ids: string[], options: ClientOptions) => {
    const { client, output } = openSession(options)
    const hangup = new AbortController()
    const interrupts = new Interrupts()
    const wait = async (run_id: string): Promise<RunItem> => {
      const run = await client.runs.wait(run_id, { throwOnFailure: false, signal: hangup.signal })
      if (output.format === 'ndjson') output.json(run)
      else if (output.format === 'text') output.line(describe(run, output))
      return run
    }
    try {
      const waiting = Promise.all(run_ids.map(wait))
      waiting.catch(() => {})
      const runs = await Promise.race([waiting, interrupts.next()])
      if (runs === 'interrupted') {
        output.note('The runs go on.')
        currentProcess().exitCode = EXIT.interrupted
        return
      }
      if (output.format === 'json') output.json(run_ids.length === 1 ? runs[0] : { runs })
      currentProcess().exitCode = runs.map(exitCodeOf).find((code) => code !== EXIT.ok) ?? EXIT.ok
    } finally {
      hangup.abort()
      interrupts.close()
    }
  })
}

function describe({ run_id, state, status_message, title }: RunItem, { colors, id }: Output): string {
  const said = status_message?.message ?? title
  return `${id(run_id)}  ${paintState(oneLine(state), colors)}  ${oneLine(said)}`
}
