import { useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import { useAccess } from '../client.ts'
import { poolsQuery } from '../keys/pool-queries.ts'
import { sayProspect, sayWorkers } from '../keys/pool-words.ts'
import { plainText } from '../text/plain-text.ts'
import { TextField } from '../ui/field.tsx'

/** Where runs are executed: a pool of those there are, or any name. `otherwise`: what counts where none is named, if not the default one. */
export function PoolField({
  value,
  onText,
  otherwise,
}: {
  value: string
  onText: (pool: string) => void
  otherwise?: string | undefined
}) {
  const { client } = useAccess()
  const { data: pools } = useQuery(poolsQuery(client))
  const id = useId()
  const fallback = otherwise || (pools?.find(({ is_default }) => is_default)?.name ?? 'default')
  const name = value.trim() || fallback
  const named = pools?.find((pool) => pool.name === name)
  return (
    <>
      <TextField
        label="Worker pool"
        hint={pools ? plainText(sayProspect(name, named)) : undefined}
        list={id}
        maxLength={128}
        pattern="[A-Za-z0-9._\-]*"
        title="Letters, digits, dots, _ and -"
        placeholder={fallback}
        spellCheck={false}
        value={value}
        onText={onText}
      />
      <datalist id={id}>
        {pools?.map((pool) => (
          // Where a label is shown, some browsers show it alone.
          <option key={pool.name} value={pool.name} label={`${pool.name} · ${sayWorkers(pool)}`} />
        ))}
      </datalist>
    </>
  )
}
