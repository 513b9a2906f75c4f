import type { Pool } from '@runyard/client'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { Button } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { Rows } from '../ui/page-head.tsx'
import { Problem } from '../ui/problem.tsx'
import { poolsQuery } from './pool-queries.ts'
import { sayLoad, sayWorkers } from './pool-words.ts'

export const POLL_MS = 10_000

/** The pools there are, with what their workers do, and who may use them. Any other name is a pool as soon as a run names it. */
export function Pools() {
  const { client } = useAccess()
  const { data: pools, error, refetch } = useQuery({ ...poolsQuery(client), refetchInterval: POLL_MS })
  return (
    <section aria-labelledby="pools" className="mt-10 grid gap-4">
      <h2 id="pools" className="m-0 font-semibold text-base">
        Pools of workers
      </h2>
      <p className="m-0 max-w-2xl text-sm text-soft">
        A pool is for everybody who may write, until somebody is named for it.
      </p>
      {error ? <Problem error={error} onRetry={() => refetch()} /> : null}
      {pools && pools.length > 0 ? (
        <Rows label="Pools of workers">
          {pools.map((pool) => (
            <PoolRow key={pool.name} pool={pool} />
          ))}
        </Rows>
      ) : null}
      <OtherPool />
    </section>
  )
}

const PoolRow = ({ pool }: { pool: Pool }) => (
  <li className="py-3 text-sm">
    <Link
      to="/keys/pools/$pool"
      params={{ pool: pool.name }}
      className="font-medium text-base text-ink no-underline hover:underline"
    >
      {plainText(pool.name)}
    </Link>
    <PoolState pool={pool} />
  </li>
)

/** What its workers do, in one line. */
export const PoolState = ({ pool }: { pool: Pool }) => (
  <span className="tabular block text-soft first-letter:uppercase">
    <span className={pool.workers_ready === 0 && pool.queued_runs > 0 ? 'text-wait' : ''}>
      {[sayWorkers(pool), sayLoad(pool)].filter(Boolean).join(' · ')}
    </span>
    {pool.is_default ? ' · for runs that name none' : ''}
    {pool.restricted ? ' · only for those who were named' : ''}
  </span>
)

/** Goes to one that is not listed, since it has no workers yet. */
function OtherPool() {
  const navigate = useNavigate()
  const [pool, setPool] = useState('')
  return (
    <form
      className="grid max-w-md grid-cols-[1fr_auto] items-end gap-3"
      onSubmit={(event) => {
        event.preventDefault()
        navigate({ to: '/keys/pools/$pool', params: { pool: pool.trim() } })
      }}
    >
      <TextField
        label="Another pool"
        required
        pattern="[A-Za-z0-9._\-]{1,128}"
        title="Letters, digits, dots, _ and -"
        placeholder="gpu"
        spellCheck={false}
        value={pool}
        onText={setPool}
      />
      <Button type="submit" className="min-h-10" disabled={!pool.trim()}>
        Who may use it
      </Button>
    </form>
  )
}
