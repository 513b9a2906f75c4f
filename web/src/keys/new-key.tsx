import type { ApiKey, CreateApiKeyRequest, NewApiKey } from '@runyard/client'
import { useState } from 'react'
import { useAccess } from '../client.ts'
import { Button } from '../ui/button.tsx'
import { CopyBlock } from '../ui/copy-block.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { Problem } from '../ui/problem.tsx'
import { useKeyChange } from './key-list.ts'

const DAY_MS = 86_400_000
const LASTS = { '': 'Until it is revoked', '30': '30 days', '90': '90 days', '365': 'A year' } as const

/** Makes a key: one more of this person, or of an identity. For admins. */
export function NewKey({ identity_uid }: { identity_uid?: string }) {
  const { client } = useAccess()
  const [name, setName] = useState('')
  const [role, setRole] = useState<NonNullable<CreateApiKeyRequest['role']>>('member')
  const [days, setDays] = useState('')
  const create = useKeyChange(() =>
    client.apiKeys.create({
      name: name.trim(),
      role,
      ...(identity_uid ? { agent_identity_uid: identity_uid } : {}),
      ...(days ? { expires_at: new Date(Date.now() + Number(days) * DAY_MS).toISOString() } : {}),
    }),
  )
  return (
    <form
      className="grid gap-3"
      onSubmit={(event) => {
        event.preventDefault()
        create.mutate(undefined, { onSuccess: () => setName('') })
      }}
    >
      <div className="grid items-end gap-3 sm:grid-cols-[2fr_1fr_1fr_auto]">
        <TextField
          label="What it is for"
          required
          maxLength={256}
          value={name}
          onText={setName}
          placeholder="CI"
        />
        <SelectField label="It may" value={role} onText={(text) => setRole(text as typeof role)}>
          <option value="viewer">read</option>
          <option value="member">read and write</option>
          <option value="admin">administer</option>
        </SelectField>
        <SelectField label="It works" value={days} onText={setDays}>
          {Object.entries(LASTS).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectField>
        <Button type="submit" kind="primary" className="min-h-10" disabled={create.isPending || !name.trim()}>
          Make a key
        </Button>
      </div>
      {create.error ? <Problem error={create.error} /> : null}
      {create.data ? <ShownKey made={create.data} /> : null}
    </form>
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
