import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useAccess } from '../client.ts'
import { Prose } from '../text/markdown.tsx'
import { plainText } from '../text/plain-text.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { Fold } from '../ui/fold.tsx'
import { Ago } from '../ui/moment.tsx'
import { PageHead, Rows } from '../ui/page-head.tsx'
import { Problem } from '../ui/problem.tsx'

/** What the repositories of environments teach agents, as it was last read. */
export function SkillsPage() {
  const { client, may_write } = useAccess()
  const queries = useQueryClient()
  const { data, error, refetch } = useQuery({
    queryKey: ['skills'],
    queryFn: ({ signal }) => client.skills.list({}, { signal }),
  })
  const refresh = useMutation({
    mutationFn: () => client.skills.list({ refresh: true }),
    onSuccess: (found) => queries.setQueryData(['skills'], found),
  })
  const skills = data?.agents.flatMap(({ name, variants }) =>
    variants.map((variant) => ({ name, ...variant })),
  )
  return (
    <>
      <PageHead title="Skills">
        {may_write ? (
          <Button disabled={refresh.isPending} onClick={() => refresh.mutate()}>
            {refresh.isPending ? 'Reading…' : 'Read repositories again'}
          </Button>
        ) : null}
      </PageHead>
      {error ? <Problem error={error} onRetry={() => refetch()} /> : null}
      {refresh.error ? <Problem error={refresh.error} onRetry={() => refresh.mutate()} /> : null}
      {data?.not_refreshed?.map(({ uid, name, reason }) => (
        <p key={uid} role="alert" className="m-0 mb-3 text-bad text-sm">
          {plainText(name)} could not be read again: {plainText(reason)}
        </p>
      ))}
      {skills?.length === 0 ? (
        <p className="max-w-2xl text-soft">
          No skill yet. A file <code>SKILL.md</code> in a repository of an{' '}
          <Link to="/environments">environment</Link> is one; it is listed when a run has cloned the
          repository, or when you have the repositories read again.
        </p>
      ) : null}
      {skills && skills.length > 0 ? (
        <Rows label="Skills">
          {skills.map(({ id, name, description, environments, error, base_prompt, last_run_timestamp }) => (
            <li key={id} className="grid grid-cols-[minmax(0,1fr)] gap-1 py-3">
              <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
                <span className="min-w-0 flex-1">
                  <span className="font-medium">{plainText(name)}</span>
                  <code className="block truncate text-soft text-xs">{plainText(id)}</code>
                </span>
                {last_run_timestamp ? (
                  <span className="text-sm text-soft">
                    run <Ago at={last_run_timestamp} />
                  </span>
                ) : null}
                {may_write && !error ? (
                  <Link
                    to="/new"
                    search={{ skill: id, ...(environments[0] ? { environment: environments[0].uid } : {}) }}
                    className={buttonClass()}
                  >
                    Run it
                  </Link>
                ) : null}
              </div>
              {error ? <p className="m-0 text-bad text-sm">{plainText(error)}</p> : null}
              <p className="m-0 text-sm text-soft">
                {plainText(description)}
                {environments.length > 0
                  ? ` In ${plainText(environments.map((each) => each.name).join(', '))}.`
                  : ''}
              </p>
              <Fold summary="What it says">
                <div className="border-line border-l-2 pl-4">
                  <Prose text={base_prompt} />
                </div>
              </Fold>
            </li>
          ))}
        </Rows>
      ) : null}
    </>
  )
}
