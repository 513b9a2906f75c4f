import { Link, useParams } from '@tanstack/react-router'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { buttonClass } from '../ui/button.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { Grants } from './grants.tsx'

/** One pool of workers: who may use it. */
export function PoolPage() {
  const { pool } = useParams({ from: '/keys/pools/$pool' })
  const { may_administer } = useAccess()
  return (
    <>
      <PageHead title={`Pool ${plainText(pool)}`}>
        <Link to="/keys" className={buttonClass()}>
          Access
        </Link>
      </PageHead>
      <Grants key={pool} resource_type="pool" resource_id={pool} may_change={may_administer} />
    </>
  )
}
