import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Command } from 'commander'
import { formatStat } from '../change-stat.ts'
import { currentProcess } from '../current-process.ts'
import { readArtifact } from '../download.ts'
import { wholeNumber } from '../option-values.ts'
import { isOfSeveral, narrow, partBelow } from '../patch.ts'
import { printPatch } from '../patch-view.ts'
import { fetchDiff } from '../run-diff.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { type TakeOverOptions, takeOver } from '../take-over.ts'

interface ShowOptions extends ClientOptions {
  stat?: boolean
  turn?: number
  repository?: string
}

const turn = wholeNumber(1, 1_000_000)
const TURN = 'as it was after this turn; each message to the agent begins one'

/** `diff`, `apply`: what a run changed in its repositories. */
export function addChangeCommands(program: Command): void {
  addClientOptions(
    program
      .command('diff <run-id>')
      .summary('show what a run changed')
      .description(
        'Prints what a run changed in its repositories, as a patch. Changes are kept when a turn ends. In a pipe the patch is exact: `runyard diff RUN_ID | git apply` takes it.',
      )
      .option('--stat', 'a line for each file instead of the patch')
      .option('--turn <n>', TURN, turn)
      .option('--repository <name>', 'this repository of several only'),
  ).action(showDiff)

  addClientOptions(
    program
      .command('apply <run-id>')
      .summary('take over what a run changed')
      .description(
        'Applies what a run changed to the git checkout of this folder, and stages it. Where both changed the same lines, the files get conflict markers.',
      )
      .option('--turn <n>', TURN, turn)
      .option('--dry-run', 'say what would happen, and change nothing')
      .option('--allow-dirty', 'also where tracked files have uncommitted changes')
      .option('--repository <name>', 'the repository of the run; default: the one called as this checkout'),
  ).action((run_id: string, options: ClientOptions & TakeOverOptions) =>
    takeOver(openSession(options), run_id, options),
  )
}

async function showDiff(run_id: string, options: ShowOptions): Promise<void> {
  const { client, output } = openSession(options)
  const whole = await fetchDiff(client, run_id, options, output)
  const { repository } = options
  const diff = whole.patch && repository !== undefined ? narrow(whole, repository) : whole
  if (output.format !== 'text') return output.json(diff)
  if (!diff.patch) return
  if (diff.files_changed === 0) output.note('There are no changes any more.')
  if (options.stat) {
    if (diff.files_changed > 0) output.line(formatStat(diff, output))
    return
  }
  const all = await readArtifact(diff.patch)
  const patch = repository !== undefined && isOfSeveral(whole) ? partBelow(all, repository) : all
  if (output.terminal && !output.raw) printPatch(patch, output)
  else await pipeline(Readable.from([patch]), currentProcess().stdout, { end: false })
}
