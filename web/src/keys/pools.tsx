import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../client.ts'
import { Button } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { identitiesQuery, poolsOf } from './identity-queries.ts'

/** Goes to who may use a pool. Any name is one: a pool is there when workers or runs name it. */
export function Pools() {
  const { client } = useAccess()
  const navigate = useNavigate()
  const { data: identities = [] } = useQuery(identitiesQuery(client))
  const [pool, setPool] = useState('')
  return (
    <section aria-labelledby="pools" className="mt-10 grid gap-4">
      <h2 id="pools" className="m-0 font-semibold text-base">
        Pools of workers
      </h2>
      <p className="m-0 max-w-2xl text-sm text-soft">
        A pool is for everybody who may write, until somebody is named for it.
      </p>
      <form
        className="grid max-w-md grid-cols-[1fr_auto] items-end gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          navigate({ to: '/keys/pools/$pool', params: { pool: pool.trim() } })
        }}
      >
        <TextField
          label="Pool"
          required
          list="pools-known"
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
        <datalist id="pools-known">
          {poolsOf(identities).map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </form>
    </section>
  )
}
