/** What is told of a run to a webhook, beside its new state. Values that are masked in its log are masked here, too. */
import { sql } from 'kysely'
import { SUMMARY_MAX, type WebhookEvent } from '../contract/webhook.ts'
import { person } from './runs.ts'

type Data = WebhookEvent['data']

/** As it is read; texts are cut later, at the end of a letter. */
export interface EventFacts extends Pick<Data, 'title' | 'creator'> {
  message: string | null
  waits_for: NonNullable<Data['waits_for']> | null
  result: string | null
  changes: NonNullable<Data['changes']> | null
  pull_requests: NonNullable<Data['pull_requests']> | null
}

export const TEST_TITLE = 'Test of this webhook'

const READ_MAX = SUMMARY_MAX * 2
/** Events before the end of a run among which the agent's last words are looked for. */
const LOOK_BACK = 200
const HAS_STOPPED = sql`d.state in ('BLOCKED', 'SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED')`

/** Where the turn began: what was said before is the answer to another message. */
const BEGUN = sql`coalesce((select max(b.sequence) from events b where b.run_id = r.run_id and b.type = 'run.state'
  and b.sequence between d.sequence - ${LOOK_BACK}::int and d.sequence - 1 and b.data->>'state' = 'INPROGRESS'), 0)`

/**
 * Of the delivery `d`. The run may have gone on since: the event that queued the delivery says why it stopped, and what the agent
 * had said by then; its title, changes and pull requests are those that it has now.
 */
export const FACTS = sql`coalesce(
  (select jsonb_build_object('title', r.title, 'creator', ${person('c')},
    'message', left(e.data #>> '{status_message,message}', ${READ_MAX}::int), 'waits_for', e.data #> '{status_message,waits_for}',
    'result', case when ${HAS_STOPPED} then (select left(m.data->>'text', ${READ_MAX}::int) from events m
      where m.run_id = r.run_id and m.sequence between greatest(d.sequence - ${LOOK_BACK}::int, ${BEGUN}) and d.sequence
        and m.type = 'message.assistant' and m.data->>'text' <> '' order by m.sequence desc limit 1) end,
    'changes', case when ${HAS_STOPPED} then (select jsonb_build_object('files_changed', f.files_changed,
        'additions', f.additions, 'deletions', f.deletions)
      from diffs f where f.run_id = r.run_id order by f.turn desc, f.artifact_uid desc limit 1) end,
    'pull_requests', case when ${HAS_STOPPED} then (select jsonb_agg(jsonb_build_object('url', p.url,
        'number', p.pull_request, 'repository', p.repository) order by p.directory)
      from pushes p where p.run_id = r.run_id and p.pull_request is not null) end)
  from runs r join principals c on c.principal_id = r.creator_id
    left join events e on e.run_id = r.run_id and e.sequence = d.sequence and e.type = 'run.state'
  where r.run_id = d.run_id),
  (select jsonb_build_object('title', ${TEST_TITLE}::text, 'creator', ${person('c')})
    from webhooks t join principals c on c.principal_id = t.creator_id where t.webhook_id = d.webhook_id)) as facts`

/** Fields that are not known are absent. */
export function viewFacts({ message, waits_for, result, changes, pull_requests, ...known }: EventFacts) {
  return {
    ...known,
    ...(message ? { message: begin(message) } : {}),
    ...(waits_for ? { waits_for } : {}),
    ...(result ? { result: begin(result) } : {}),
    ...(changes ? { changes } : {}),
    ...(pull_requests ? { pull_requests } : {}),
  }
}

const begin = (text: string): string =>
  text.length <= SUMMARY_MAX ? text : `${text.slice(0, SUMMARY_MAX - 1).replace(/[\ud800-\udbff]$/, '')}…`
