import type { Trigger } from '@runyard/client'
import { Link } from '@tanstack/react-router'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { ListPage } from '../ui/list-page.tsx'
import { Ago } from '../ui/moment.tsx'
import { usePages } from '../ui/paged-rows.tsx'
import { SENDERS } from './hook-sample.ts'
import { lookOfOutcome } from './outcome.ts'

const SAMPLE = `runyard trigger create 'Labelled issues' 'Fix this: {{payload.issue.body}}' --verification github \\
  --filter 'payload.action == "labeled" && payload.label.name == "agent"'`

/** Addresses where what others post starts runs. */
export function TriggersPage() {
  const { client } = useAccess()
  const pages = usePages<Trigger>(
    ['triggers', 'list'],
    async (cursor, options) => {
      const { triggers, page_info } = await client.triggers.list({ limit: 100, ...cursor }, options)
      return { items: triggers, page_info }
    },
    { poll_ms: 10_000 },
  )
  return (
    <ListPage
      kind="trigger"
      pages={pages}
      about="One has an address, and starts a run from each message that GitHub, GitLab, Slack, Linear or a program of yours posts there."
      sample={SAMPLE}
    >
      {(trigger) => <TriggerRow key={trigger.trigger_id} trigger={trigger} />}
    </ListPage>
  )
}

function TriggerRow({ trigger }: { trigger: Trigger }) {
  const { trigger_id, name, verification, filter, scope, last_delivery } = trigger
  return (
    <li className="flex flex-wrap items-center gap-x-6 gap-y-1 py-3">
      <span className="min-w-0 flex-1 basis-72">
        <Link
          to="/triggers/$trigger_id"
          params={{ trigger_id }}
          className="font-medium text-ink no-underline wrap-anywhere hover:underline"
        >
          {plainText(name)}
        </Link>
        <span className="block text-sm text-soft">
          {SENDERS[verification].label}
          {scope.type === 'User' ? ' · only you' : ''}
          {filter ? (
            <>
              {' · '}
              <code className="text-xs wrap-anywhere">{plainText(filter)}</code>
            </>
          ) : null}
        </span>
      </span>
      <span className="text-sm text-soft sm:text-right">
        <TriggerState trigger={trigger} />
        <span className="block">
          {last_delivery ? (
            <>
              <span className={lookOfOutcome(last_delivery.outcome).tone}>
                {lookOfOutcome(last_delivery.outcome).label}
              </span>{' '}
              <Ago at={last_delivery.received_at} />
            </>
          ) : (
            'Nothing came yet'
          )}
        </span>
      </span>
    </li>
  )
}

/** Whether it answers, and if not, why. */
export function TriggerState({ trigger: { enabled, stopped_reason } }: { trigger: Trigger }) {
  if (!enabled) return <span className="text-wait">Paused</span>
  if (stopped_reason) return <span className="text-wait">Stopped: {plainText(stopped_reason)}</span>
  return <span className="text-good">On</span>
}
