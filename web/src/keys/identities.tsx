import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { buttonClass } from '../ui/button.tsx'
import { Rows } from '../ui/page-head.tsx'
import { Problem } from '../ui/problem.tsx'
import { identitiesQuery } from './identity-queries.ts'

/** Service accounts: who runs are executed as, with defaults of their own. */
export function Identities() {
  const { client, may_write } = useAccess()
  const { data, error, refetch } = useQuery(identitiesQuery(client))
  return (
    <section aria-labelledby="identities" className="mt-10 grid gap-4">
      <div className="flex flex-wrap items-center gap-3">
        <h2 id="identities" className="m-0 font-semibold text-base">
          Identities
        </h2>
        {may_write ? (
          <Link to="/keys/identities/new" className={`${buttonClass()} ml-auto`}>
            New identity
          </Link>
        ) : null}
      </div>
      <p className="m-0 max-w-2xl text-sm text-soft">
        Service accounts that runs are executed as, with a prompt, an environment, a model and skills of their
        own.
      </p>
      {error ? <Problem error={error} onRetry={() => refetch()} /> : null}
      {data && data.length > 0 ? (
        <Rows label="Identities">
          {data.map(({ uid, name, description, available, base_model }) => (
            <li key={uid} className="py-3 text-sm">
              <Link
                to="/keys/identities/$uid"
                params={{ uid }}
                className="font-medium text-base text-ink no-underline hover:underline"
              >
                {plainText(name)}
              </Link>
              <span className="block text-soft">
                {plainText(
                  [description, base_model, available ? '' : 'may execute no runs']
                    .filter(Boolean)
                    .join(' · '),
                )}
              </span>
            </li>
          ))}
        </Rows>
      ) : null}
    </section>
  )
}
