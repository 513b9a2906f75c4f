import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { buttonClass } from '../ui/button.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { Grants } from './grants.tsx'
import { poolsQuery } from './pool-queries.ts'
import { POLL_MS, PoolState } from './pools.tsx'

/** One pool of workers: what they do, and who may use it. */
export function PoolPage() {
  const { pool } = useParams({ from: '/keys/pools/$pool' })
  const { client, may_administer } = useAccess()
  const { data: pools } = useQuery({ ...poolsQuery(client), refetchInterval: POLL_MS })
  const listed = pools?.find(({ name }) => name === pool)
  return (
    <>
      <PageHead title={`Pool ${plainText(pool)}`}>
        <Link to="/keys" className={buttonClass()}>
          Access
        </Link>
      </PageHead>
      {pools ? (
        <p className="mt-0 mb-6 text-sm text-soft">
          {listed ? <PoolState pool={listed} /> : 'No workers that you can see.'}
        </p>
      ) : null}
      <Grants key={pool} resource_type="pool" resource_id={pool} may_change={may_administer} />
    </>
  )
}
