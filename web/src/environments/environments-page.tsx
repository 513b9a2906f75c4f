import type { Environment } from '@runyard/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { buttonClass } from '../ui/button.tsx'
import { CopyBlock } from '../ui/copy-block.tsx'
import { Ago } from '../ui/moment.tsx'
import { PageHead, Rows } from '../ui/page-head.tsx'
import { Problem } from '../ui/problem.tsx'
import { StateBadge } from '../ui/state-badge.tsx'
import { environmentsQuery } from './environment-queries.ts'

/** What runs begin with: an image, repositories, commands, values. */
export function EnvironmentsPage() {
  const { client, may_write } = useAccess()
  const { data, error, refetch } = useQuery({ ...environmentsQuery(client), staleTime: 0 })
  return (
    <>
      <PageHead title="Environments">
        {may_write ? (
          <Link to="/environments/new" className={buttonClass()}>
            <Plus aria-hidden className="size-4" />
            New environment
          </Link>
        ) : null}
      </PageHead>
      {error ? <Problem error={error} onRetry={() => refetch()} /> : null}
      {data?.length === 0 ? (
        <div className="max-w-xl">
          <p className="text-soft">
            No environment yet. One says which repositories a run gets, and what is set up before it begins.
          </p>
          <CopyBlock text="runyard env create site --repo https://github.com/acme/site" />
        </div>
      ) : null}
      {data && data.length > 0 ? (
        <Rows label="Environments">
          {data.map((environment) => (
            <EnvironmentRow key={environment.uid} environment={environment} />
          ))}
        </Rows>
      ) : null}
    </>
  )
}

function EnvironmentRow({
  environment: { uid, config, last_run, setup_failed },
}: {
  environment: Environment
}) {
  const places = [
    ...(config.repositories ?? []).map(({ url, local_path }) => url ?? local_path),
    ...(config.github_repos ?? []).map(({ owner, repo }) => `${owner}/${repo}`),
  ]
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 py-3">
      <span className="min-w-0 flex-1 basis-60">
        <Link
          to="/environments/$uid"
          params={{ uid }}
          className="font-medium text-ink no-underline hover:underline"
        >
          {plainText(config.name)}
        </Link>
        <span className="block truncate text-sm text-soft">
          {plainText([config.docker_image, ...places].filter(Boolean).join(' · ') || 'No repository')}
        </span>
      </span>
      {setup_failed ? <span className="text-bad text-sm">Setup failed</span> : null}
      {last_run ? (
        <Link
          to="/sessions/$run_id"
          params={{ run_id: last_run.run_id }}
          className="flex items-center gap-3 text-sm text-soft no-underline"
        >
          <StateBadge state={last_run.state} />
          <Ago at={last_run.created_at} />
        </Link>
      ) : (
        <span className="text-sm text-soft">No run yet</span>
      )}
    </li>
  )
}
