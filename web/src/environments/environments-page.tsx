import type { Environment } from '@runyard/client'
import { Link } from '@tanstack/react-router'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { ListPage } from '../ui/list-page.tsx'
import { Ago } from '../ui/moment.tsx'
import { usePages } from '../ui/paged-rows.tsx'
import { StateBadge } from '../ui/state-badge.tsx'

/** What runs begin with: an image, repositories, commands, values. */
export function EnvironmentsPage() {
  const { client } = useAccess()
  const pages = usePages<Environment>(['environments', 'list'], async (cursor, options) => {
    const { environments, page_info } = await client.environments.list({ limit: 100, ...cursor }, options)
    return { items: environments, page_info }
  })
  return (
    <ListPage
      kind="environment"
      pages={pages}
      about="One says which repositories a run gets, and what is set up before it begins."
      sample="runyard env create site --repo https://github.com/acme/site"
    >
      {(environment) => <EnvironmentRow key={environment.uid} environment={environment} />}
    </ListPage>
  )
}

function EnvironmentRow({
  environment: { uid, config, last_task_created: last_run, setup_failed },
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
          params={{ run_id: last_run.id }}
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
