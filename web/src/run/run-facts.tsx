import type { RunItem } from '@runyard/client'
import { useQuery } from '@tanstack/react-query'
import { Link, type LinkProps } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useAccess } from '../client.ts'
import { environmentsQuery } from '../environments/environment-queries.ts'
import { formatCount } from '../text/format.ts'
import { plainText } from '../text/plain-text.ts'
import { Ago } from '../ui/moment.tsx'
import { PlanPanel } from './plan-panel.tsx'
import type { SessionView } from './session-log.ts'

/** What there is to know about a run, beside its conversation. */
export function RunFacts({ run, view }: { run: RunItem; view: SessionView }) {
  const { may_write } = useAccess()
  const { agent_config: config, creator, fork_of, parent_run_id, replay_of_run_id, schedule, trigger } = run
  const agent = [run.resolved?.harness ?? config.harness?.type, view.model_id ?? run.resolved?.model_id]
  const commits = Object.entries(run.resolved?.commits ?? {})
  return (
    <aside aria-label="About this run" className="self-start text-sm lg:sticky lg:top-20">
      {view.plan ? <PlanPanel steps={view.plan} /> : null}
      <dl className="m-0 grid grid-cols-[repeat(auto-fill,minmax(9rem,1fr))] gap-x-4 gap-y-3 lg:grid-cols-1">
        <Fact name="By">{plainText(creator.display_name ?? creator.uid)}</Fact>
        <Fact name="Created">
          <Ago at={run.created_at} />
        </Fact>
        <Fact name="Agent">{plainText(agent.filter(Boolean).join(' · '))}</Fact>
        <Fact name="Tokens">{view.tokens > 0 ? formatCount(view.tokens) : null}</Fact>
        <Fact name="Started again">{view.lost_attempts > 0 ? formatCount(view.lost_attempts) : null}</Fact>
        <Fact name="Environment">
          {config.environment_id ? <EnvironmentName uid={config.environment_id} /> : null}
        </Fact>
        <Fact name="Repository">
          {plainText((config.repositories ?? []).map(({ url, local_path }) => url ?? local_path).join(', '))}
        </Fact>
        <Fact name="Workspace">
          {may_write ? (
            <Link to="/sessions/$run_id/files" params={{ run_id: run.run_id }}>
              Browse files
            </Link>
          ) : null}
        </Fact>
        <Fact name="Skill">{run.agent_skill?.full_path ? plainText(run.agent_skill.full_path) : null}</Fact>
        <Fact name="Schedule">
          {schedule ? (
            <OwnLink to="/schedules/$schedule_id" params={{ schedule_id: schedule.schedule_id }}>
              {plainText(schedule.schedule_name)}
            </OwnLink>
          ) : null}
        </Fact>
        <Fact name="Trigger">
          {trigger ? (
            <OwnLink to="/triggers/$trigger_id" params={{ trigger_id: trigger.trigger_id }}>
              <code>{trigger.trigger_id.slice(-12)}</code>
            </OwnLink>
          ) : null}
        </Fact>
        <Fact name="Forked from">{fork_of ? <RunLink run_id={fork_of.run_id} /> : null}</Fact>
        <Fact name="Repeats">{replay_of_run_id ? <RunLink run_id={replay_of_run_id} /> : null}</Fact>
        <Fact name="Child of">{parent_run_id ? <RunLink run_id={parent_run_id} /> : null}</Fact>
      </dl>
      <details className="mt-6">
        <summary className="chevron w-fit text-soft">Details</summary>
        <dl className="m-0 mt-3 grid gap-3 [&_dd]:font-mono [&_dd]:text-xs">
          <Fact name="Run">{run.run_id}</Fact>
          <Fact name="Conversation">{run.conversation_id}</Fact>
          <Fact name="Source">{run.source}</Fact>
          <Fact name="Image">{run.resolved?.image}</Fact>
          {commits.map(([folder, commit]) => (
            <Fact key={folder} name={`Commit of ${plainText(folder)}`}>
              {commit ?? 'none'}
            </Fact>
          ))}
        </dl>
      </details>
    </aside>
  )
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  if (children === null || children === undefined || children === '') return null
  return (
    <div>
      <dt className="text-soft text-xs">{name}</dt>
      <dd className="m-0 wrap-anywhere">{children}</dd>
    </div>
  )
}

const RunLink = ({ run_id }: { run_id: string }) => (
  <Link to="/sessions/$run_id" params={{ run_id }}>
    <code>{run_id.slice(-12)}</code>
  </Link>
)

/** Only text for visitors, who see nothing beside the run. */
function OwnLink({ children, ...link }: LinkProps & { children: ReactNode }) {
  const { is_visitor } = useAccess()
  return is_visitor ? <span>{children}</span> : <Link {...link}>{children}</Link>
}

/** By its name, which a visitor does not learn. */
function EnvironmentName({ uid }: { uid: string }) {
  const { client, is_visitor } = useAccess()
  const { data } = useQuery({ ...environmentsQuery(client), enabled: !is_visitor })
  const name = data?.find((environment) => environment.uid === uid)?.config.name
  return name ? (
    <OwnLink to="/environments/$uid" params={{ uid }}>
      {plainText(name)}
    </OwnLink>
  ) : (
    <code>{uid}</code>
  )
}
