import type { TimelineEvent } from '@runyard/client'
import type { Command } from 'commander'
import { oneLine } from '../one-line.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { formatDuration } from '../time-text.ts'

/** What happened, in the words of the command line. Types this command does not know yet are shown as they are. */
const WORDS: Record<string, string> = {
  oz_run_created: 'created',
  oz_run_claimed: 'claimed by a worker',
  worker_container_ready: 'sandbox ready',
  shared_session_started: 'session open',
  agent_started: 'agent started',
  oz_run_done: 'succeeded',
  oz_run_blocked: 'blocked',
  oz_run_cancelled: 'cancelled',
  oz_run_failed: 'failed',
  oz_run_errored: 'internal or provider error',
  vm_shutdown: 'sandbox stopped',
}

/** `timeline`: where a run's time went. */
export function addTimelineCommand(program: Command): void {
  addClientOptions(
    program
      .command('timeline <run-id>')
      .summary('show where the time of a run went')
      .description(
        'Prints when a run was created, claimed by a worker, set up, started, ended and stopped, and how long each took.',
      ),
  ).action(async (run_id: string, options: ClientOptions) => {
    const { client, output } = openSession(options)
    const answer = await client.runs.timeline(run_id)
    if (output.format === 'json') return output.json(answer)
    if (output.format === 'ndjson') return answer.events.forEach(output.json)
    let before: TimelineEvent | undefined
    for (const event of answer.events) {
      const { event_type, occurred_at } = event
      const took = before ? Date.parse(occurred_at) - Date.parse(before.occurred_at) : 0
      const after = Number.isFinite(took) && before ? output.colors.dim(`  +${formatDuration(took)}`) : ''
      output.line(`${oneLine(occurred_at)}  ${oneLine(WORDS[event_type] ?? event_type)}${after}`)
      before = event
    }
  })
}
