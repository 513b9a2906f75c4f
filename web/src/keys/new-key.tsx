import type { ApiKey, CreateApiKeyRequest, NewApiKey } from '@runyard/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { Button } from '../ui/button.tsx'
import { CopyBlock } from '../ui/copy-block.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { Problem } from '../ui/problem.tsx'
import { identitiesQuery } from './identity-queries.ts'
import { useKeyChange } from './key-list.ts'
import { peopleQuery } from './people-queries.ts'

const DAY_MS = 86_400_000
const LASTS = { '': 'Never', '30': '30 days', '90': '90 days', '365': '1 year' } as const

/** In place of a role: a key for workers. */
const POOL = 'pool'

export const ROLES = { viewer: 'Viewer', member: 'Member', admin: 'Admin' } as const

/** Creates a key for a person or an identity, who is chosen by name unless the page is of one. For admins. */
export function NewKey({ identity_uid }: { identity_uid?: string }) {
  const { client } = useAccess()
  const [name, setName] = useState('')
  const [owner, setOwner] = useState(identity_uid ?? '')
  const [role, setRole] = useState<NonNullable<CreateApiKeyRequest['role']> | typeof POOL>('member')
  const [pool, setPool] = useState('')
  const [days, setDays] = useState('')
  const create = useKeyChange(() =>
    client.apiKeys.create({
      name: name.trim(),
      ...(role === POOL ? { pool: pool.trim() } : { role }),
      principal_id: owner,
      ...(days ? { expires_at: new Date(Date.now() + Number(days) * DAY_MS).toISOString() } : {}),
    }),
  )
  return (
    <form
      aria-label="Create key"
      className="grid gap-3"
      onSubmit={(event) => {
        event.preventDefault()
        create.mutate(undefined, { onSuccess: () => setName('') })
      }}
    >
      <div className="grid items-end gap-3 sm:grid-cols-2 lg:grid-cols-[2fr_2fr_1fr_1fr_auto]">
        {identity_uid ? null : <OwnerField value={owner} onText={setOwner} />}
        <TextField
          label={identity_uid ? 'Key name' : 'Name'}
          required
          maxLength={256}
          value={name}
          onText={setName}
          placeholder="CI"
        />
        <SelectField label="Role" value={role} onText={(text) => setRole(text as typeof role)}>
          {Object.entries(ROLES).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
          <option value={POOL}>Pool worker</option>
        </SelectField>
        <SelectField label="Expires" value={days} onText={setDays}>
          {Object.entries(LASTS).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectField>
        <Button
          type="submit"
          kind="primary"
          className="min-h-10"
          disabled={create.isPending || !name.trim() || !owner || (role === POOL && !pool.trim())}
        >
          Create key
        </Button>
      </div>
      {role === POOL ? (
        <TextField
          label="Pool"
          required
          value={pool}
          onText={setPool}
          placeholder="default"
          hint="Workers claim runs of this pool with the key. It opens nothing else."
        />
      ) : null}
      {create.error ? <Problem error={create.error} /> : null}
      {create.data ? <ShownKey made={create.data} /> : null}
    </form>
  )
}

/** Whose key it will be. Nobody is chosen at first: a key does what its owner may do. */
function OwnerField({ value, onText }: { value: string; onText: (uid: string) => void }) {
  const { client } = useAccess()
  const { data: people = [] } = useQuery(peopleQuery(client))
  const { data: identities = [] } = useQuery(identitiesQuery(client))
  return (
    <SelectField label="Owner" required value={value} onText={onText}>
      <option value="">Choose…</option>
      <optgroup label="People">
        {people.map(({ uid, display_name }) => (
          <option key={uid} value={uid}>
            {plainText(display_name)}
          </option>
        ))}
      </optgroup>
      <optgroup label="Identities">
        {identities.map(({ uid, name }) => (
          <option key={uid} value={uid}>
            {plainText(name)}
          </option>
        ))}
      </optgroup>
    </SelectField>
  )
}

/** The text of a key that was just made. */
export function ShownKey({ made }: { made: ApiKey | NewApiKey }) {
  if (!('api_key' in made)) return null
  return (
    <div role="status">
      <p className="m-0 mb-1 text-sm text-soft">Copy it now: it is not shown again.</p>
      <CopyBlock text={made.api_key} label="Copy the key" />
    </div>
  )
}
