import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { Ago } from '../ui/moment.tsx'
import { StateBadge } from '../ui/state-badge.tsx'
import { childrenQuery } from './run-queries.ts'

/** The runs that this one created, with how they stand now. A visitor sees nothing beside the run. */
export function ChildRuns({ run_id }: { run_id: string }) {
  const { client, is_visitor } = useAccess()
  const { data: runs = [] } = useQuery({ ...childrenQuery(client, run_id), enabled: !is_visitor })
  if (runs.length === 0) return null
  return (
    <section aria-labelledby="children">
      <h2 id="children" className="m-0 mb-1.5 font-semibold text-base">
        Runs it started
      </h2>
      <ul className="m-0 grid list-none p-0 text-sm">
        {runs.map((run) => (
          <li
            key={run.run_id}
            className="flex min-w-0 flex-wrap items-center gap-x-4 border-line border-b py-1.5 last:border-b-0"
          >
            <Link to="/sessions/$run_id" params={{ run_id: run.run_id }} className="min-w-0 truncate">
              {plainText(run.title)}
            </Link>
            <span className="ml-auto flex shrink-0 items-center gap-4">
              <span className="text-soft text-xs">
                <Ago at={run.created_at} />
              </span>
              <StateBadge state={run.state} waits_for={run.status_message?.waits_for} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

const RUN_ID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g

/** What a tool tells of other runs, with their ids as links to them. */
export function WithRunLinks({ text }: { text: string }) {
  let end = 0
  const parts = Array.from(text.matchAll(RUN_ID), ({ 0: run_id, index }) => {
    const before = text.slice(end, index)
    end = index + run_id.length
    return (
      <span key={index}>
        {before}
        <Link to="/sessions/$run_id" params={{ run_id }}>
          {run_id}
        </Link>
      </span>
    )
  })
  return (
    <>
      {parts}
      {text.slice(end)}
    </>
  )
}
