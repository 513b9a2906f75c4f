import type { RunEvent, Runyard } from '@runyard/client'
import type { Command } from 'commander'
import { cleanEvent } from '../clean-answer.ts'
import { currentProcess } from '../current-process.ts'
import { wholeNumber } from '../option-values.ts'
import { RunView } from '../run-view.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { watchRun } from '../watch-run.ts'

const PAGE = 1_000

interface LogsOptions extends ClientOptions {
  after?: number
  follow?: boolean
  full?: boolean
}

export function addLogsCommand(program: Command): void {
  addClientOptions(
    program
      .command('logs <run-id>')
      .summary('print what a run has logged')
      .description(
        'Prints the log of a run as far as it goes now. On a terminal long outputs are folded, in a pipe everything is there. -o ndjson prints an event a line, as it is stored.',
      )
      .option('-f, --follow', 'go on until the run ends, as `runyard follow` does')
      .option('--full', 'show all output of commands on a terminal, too')
      .option('--after <sequence>', 'only what follows this event', wholeNumber(0, Number.MAX_SAFE_INTEGER)),
  ).action(async (run_id: string, { after = 0, follow, full, ...options }: LogsOptions) => {
    const session = openSession(options)
    if (follow) {
      currentProcess().exitCode = await watchRun(session, run_id, { after, full })
      return
    }
    const { client, output } = session
    const log = readLog(client, run_id, after)
    if (output.format === 'json') return output.json({ run_id, events: await Array.fromAsync(log) })
    // Not as a terminal that something happens on: lines in the order of the log.
    const view = new RunView(output, { full: full || !output.terminal, past: true })
    for await (const event of log) {
      if (output.format === 'ndjson') output.json(event)
      else view.show(output.raw ? event : cleanEvent(event))
    }
    if (output.format === 'text') view.leaveOpen()
  })
}

/** The events that are stored now, page by page. */
async function* readLog(client: Runyard, run_id: string, after: number): AsyncGenerator<RunEvent> {
  for (let last = after; ; ) {
    const { events, has_more } = await client.runs.events(run_id, { after: last, limit: PAGE })
    yield* events
    const end = events.at(-1)?.sequence ?? last
    if (!has_more || end <= last) return
    last = end
  }
}
