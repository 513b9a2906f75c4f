import type { PutGrantsRequest } from '@runyard/client'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { Button } from '../ui/button.tsx'
import { SelectField } from '../ui/field.tsx'
import { Rows } from '../ui/page-head.tsx'
import { Problem } from '../ui/problem.tsx'
import { identitiesQuery } from './identity-queries.ts'
import { useKeyList } from './key-list.ts'
import { poolsQuery } from './pool-queries.ts'

type Granted = Pick<PutGrantsRequest, 'resource_type' | 'resource_id'>

/** Who may use an identity, an environment, a secret of the team or a pool, besides admins. */
export function Grants({ resource_type, resource_id, may_change }: Granted & { may_change: boolean }) {
  const { client } = useAccess()
  const queries = useQueryClient()
  const queryKey = ['grants', resource_type, resource_id]
  const { data, error } = useQuery({
    queryKey,
    queryFn: ({ signal }) => client.grants.get({ resource_type, resource_id }, { signal }),
  })
  const put = useMutation({
    mutationFn: (principal_ids: string[]) => client.grants.put({ resource_type, resource_id, principal_ids }),
    onSuccess: (grants) => {
      queries.setQueryData(queryKey, grants)
      // The list of pools says which are for who is named.
      return queries.invalidateQueries({ queryKey: poolsQuery(client).queryKey })
    },
  })
  const named = data?.grants.map(({ principal }) => principal) ?? []
  const ids = named.map(({ uid }) => uid)
  const problem = error ?? put.error
  return (
    <section aria-labelledby="grants" className="grid max-w-2xl gap-3">
      <h2 id="grants" className="m-0 font-semibold text-base">
        Who may use it
      </h2>
      {problem ? <Problem error={problem} /> : null}
      {data ? <p className="m-0 text-sm text-soft">{sayWho(resource_type, named.length > 0)}</p> : null}
      {named.length > 0 ? (
        <Rows label="Who may use it">
          {named.map(({ uid, display_name, type }) => (
            <li key={uid} className="flex flex-wrap items-center gap-3 py-2 text-sm">
              <span className="min-w-0 flex-1">
                {plainText(display_name ?? uid)}{' '}
                <span className="text-soft">{type === 'service_account' ? 'identity' : 'person'}</span>
              </span>
              {may_change ? (
                <Button
                  disabled={put.isPending}
                  onClick={() => put.mutate(ids.filter((id) => id !== uid))}
                  aria-label={`Take it away from ${plainText(display_name ?? uid)}`}
                >
                  Take it away
                </Button>
              ) : null}
            </li>
          ))}
        </Rows>
      ) : null}
      {may_change && data ? (
        <AddGrant
          left_out={[...ids, resource_id]}
          is_busy={put.isPending}
          onAdd={(id) => put.mutate([...ids, id])}
        />
      ) : null}
    </section>
  )
}

function sayWho(resource_type: Granted['resource_type'], is_named: boolean): string {
  if (is_named) return 'Admins, and:'
  return resource_type === 'identity' ? 'Admins, and who made it.' : 'Everybody who may write.'
}

/** Whom this person knows of: who has a key they see, and identities. */
function AddGrant({
  left_out,
  is_busy,
  onAdd,
}: {
  left_out: readonly string[]
  is_busy: boolean
  onAdd: (principal_id: string) => void
}) {
  const { client } = useAccess()
  const { items: keys = [] } = useKeyList()
  const { data: identities = [] } = useQuery(identitiesQuery(client))
  const known = new Map([
    ...keys.map(({ principal }) => [principal.uid, principal.display_name ?? principal.uid] as const),
    ...identities.map(({ uid, name }) => [uid, name] as const),
  ])
  const choices = [...known].filter(([uid]) => !left_out.includes(uid))
  if (choices.length === 0) return null
  return (
    <SelectField label="Let somebody use it" value="" disabled={is_busy} onText={(uid) => uid && onAdd(uid)}>
      <option value="">Choose…</option>
      {choices.map(([uid, name]) => (
        <option key={uid} value={uid}>
          {plainText(name)}
        </option>
      ))}
    </SelectField>
  )
}
