import { Link } from '@tanstack/react-router'
import { useAccess } from '../client.ts'
import { buttonClass } from '../ui/button.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { Identities } from './identities.tsx'
import { KeyRows } from './key-rows.tsx'
import { NewKey } from './new-key.tsx'
import { People } from './people.tsx'
import { Pools } from './pools.tsx'

/** Who may do what: keys, the people and service accounts that they are of, and pools. */
export function KeysPage() {
  const { may_administer } = useAccess()
  return (
    <>
      <PageHead title="Access">
        {may_administer ? (
          <Link to="/keys/audit" className={buttonClass()}>
            Audit log
          </Link>
        ) : null}
      </PageHead>
      <section aria-labelledby="keys" className="grid gap-4">
        <h2 id="keys" className="m-0 font-semibold text-base">
          API keys
        </h2>
        {may_administer ? (
          <NewKey />
        ) : (
          <p className="m-0 max-w-2xl text-sm text-soft">Your own. An admin makes further ones.</p>
        )}
        <KeyRows />
      </section>
      {may_administer ? <People /> : null}
      <Identities />
      <Pools />
    </>
  )
}
