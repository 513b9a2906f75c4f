import type { PullRequestItem } from '@runyard/client'
import type { Command } from 'commander'
import { oneLine } from '../one-line.ts'
import type { Output } from '../output.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'

interface MergeOptions extends ClientOptions {
  url?: string
  commit?: string
}

/** `pr`, `merge`: what a run asks to be merged. */
export function addPullRequestCommands(program: Command): void {
  addClientOptions(
    program
      .command('pr <run-id>')
      .summary('show how the pull requests of a run stand')
      .description(
        'Prints the pull requests that a run opened, as they stand at their hosts now: open, merged or closed, and what is in their way.',
      ),
  ).action(async (run_id: string, options: ClientOptions) => {
    const { client, output } = openSession(options)
    const answer = await client.runs.pullRequests(run_id)
    if (output.format === 'json') output.json(answer)
    else if (output.format === 'ndjson') answer.pull_requests.forEach(output.json)
    else if (answer.pull_requests.length === 0) output.note('The run has opened no pull request.')
    else for (const pull of answer.pull_requests) print(output, pull)
  })

  addClientOptions(
    program
      .command('merge <run-id>')
      .summary('merge a pull request of a run')
      .description(
        'Merges the pull request that a run opened, by the merge method of its environment, which has to name one (`runyard env update NAME --merge-method squash`). What somebody else has pushed to its branch is merged only where --commit names it.',
      )
      .option('--url <url>', 'which one, where the run has opened several')
      .option('--commit <id>', 'the commit that is to be merged; default: what the run pushed last'),
  ).action(async (run_id: string, { url, commit, ...options }: MergeOptions) => {
    const { client, output } = openSession(options)
    const pull = await client.runs.merge(run_id, { url, commit })
    if (output.format === 'text') print(output, pull)
    else output.json(pull)
  })
}

function print({ line, colors }: Output, pull: PullRequestItem): void {
  const { state, base, title, url, note, is_draft, mergeable } = pull
  const word = state === 'open' && is_draft ? 'draft' : state
  const into = base === undefined || state === 'closed' ? '' : ` into ${oneLine(base)}`
  line(`${colors.bold(oneLine(word))}${into}${title ? `: ${oneLine(title)}` : ''}`)
  line(`  ${oneLine(url)}`)
  const said = note ?? (mergeable === null ? 'Its host is finding out whether it can be merged.' : undefined)
  if (said) line(`  ${oneLine(said)}`)
}
