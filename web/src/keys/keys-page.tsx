import type { ApiKey, CreateApiKeyRequest, NewApiKey } from '@runyard/client'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { Button } from '../ui/button.tsx'
import { ConfirmButton } from '../ui/confirm-button.tsx'
import { CopyBlock } from '../ui/copy-block.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { Ago } from '../ui/moment.tsx'
import { PageHead, Rows } from '../ui/page-head.tsx'
import { Problem } from '../ui/problem.tsx'
import { Identities } from './identities.tsx'

const KEYS = ['api-keys']
const DAY_MS = 86_400_000
const LASTS = { '': 'Until it is revoked', '30': '30 days', '90': '90 days', '365': 'A year' } as const

/** What programs and people call the service with: keys, and the service accounts that keys may be of. */
export function KeysPage() {
  const { client, may_write } = useAccess()
  const { data, error, refetch } = useQuery({
    queryKey: KEYS,
    queryFn: async ({ signal }) => (await client.apiKeys.list({ limit: 100 }, { signal })).api_keys,
  })
  return (
    <>
      <PageHead title="Keys and identities" />
      <section aria-labelledby="keys" className="grid gap-4">
        <h2 id="keys" className="m-0 font-semibold text-base">
          API keys
        </h2>
        {may_write ? <NewKey /> : null}
        {error ? <Problem error={error} onRetry={() => refetch()} /> : null}
        {data ? (
          <Rows label="API keys">
            {data.map((key) => (
              <KeyRow key={key.key_id} api_key={key} />
            ))}
          </Rows>
        ) : null}
      </section>
      <Identities />
    </>
  )
}

function useKeyChange<V>(change: (value: V) => Promise<ApiKey | NewApiKey>) {
  const queries = useQueryClient()
  return useMutation({ mutationFn: change, onSuccess: () => queries.invalidateQueries({ queryKey: KEYS }) })
}

function NewKey() {
  const { client, may_administer } = useAccess()
  const [name, setName] = useState('')
  const [role, setRole] = useState<NonNullable<CreateApiKeyRequest['role']>>('member')
  const [days, setDays] = useState('')
  const create = useKeyChange(() =>
    client.apiKeys.create({
      name: name.trim(),
      role,
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
          {may_administer ? <option value="admin">administer</option> : null}
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
      {create.data ? <Shown made={create.data} /> : null}
    </form>
  )
}

/** The text of a key that was just made. */
function Shown({ made }: { made: ApiKey | NewApiKey }) {
  if (!('api_key' in made)) return null
  return (
    <div role="status">
      <p className="m-0 mb-1 text-sm text-soft">Copy it now: it is not shown again.</p>
      <CopyBlock text={made.api_key} label="Copy the key" />
    </div>
  )
}

function KeyRow({ api_key }: { api_key: ApiKey }) {
  const { client, may_write } = useAccess()
  const { key_id, name, role, masked, active, principal, last_used_at, expires_at, grace_until, revoked_at } =
    api_key
  const rotate = useKeyChange(() => client.apiKeys.rotate(key_id))
  const revoke = useKeyChange(() => client.apiKeys.revoke(key_id))
  const error = rotate.error ?? revoke.error
  return (
    <li className="grid gap-2 py-3">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-sm">
        <span className="min-w-0 flex-1">
          <span className={`font-medium text-base ${active ? '' : 'text-soft line-through'}`}>
            {plainText(name)}
          </span>{' '}
          <code className="text-soft text-xs">{masked}</code>
          <span className="block text-soft">
            {role} · {plainText(principal.display_name ?? principal.uid)} ·{' '}
            {last_used_at ? (
              <>
                used <Ago at={last_used_at} />
              </>
            ) : (
              'never used'
            )}
            {revoked_at ? (
              <>
                {' '}
                · revoked <Ago at={revoked_at} />
              </>
            ) : grace_until ? (
              <>
                {' '}
                · replaced, ends <Ago at={grace_until} />
              </>
            ) : expires_at ? (
              <>
                {' '}
                · ends <Ago at={expires_at} />
              </>
            ) : null}
          </span>
        </span>
        {may_write && active ? (
          <span className="flex gap-2">
            <ConfirmButton
              kind="plain"
              confirm="Rotate the key"
              question="Another key takes its place. This one works for five more minutes."
              is_busy={rotate.isPending}
              onConfirm={() => rotate.mutate(undefined)}
            >
              Rotate
            </ConfirmButton>
            <ConfirmButton
              confirm="Revoke the key"
              question="It ends at once, with the sessions and links that were made with it."
              is_busy={revoke.isPending}
              onConfirm={() => revoke.mutate(undefined)}
            >
              Revoke
            </ConfirmButton>
          </span>
        ) : null}
      </div>
      {error ? <Problem error={error} /> : null}
      {rotate.data ? <Shown made={rotate.data} /> : null}
    </li>
  )
}
