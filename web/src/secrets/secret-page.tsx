import type { Runyard, Secret } from '@runyard/client'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../client.ts'
import { Grants } from '../keys/grants.tsx'
import { plainText } from '../text/plain-text.ts'
import { Found } from '../ui/found.tsx'
import { Ago } from '../ui/moment.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { Problem } from '../ui/problem.tsx'
import { RemoveButton, useRemoval } from '../ui/removal.tsx'
import { SettingsForm } from '../ui/settings-form.tsx'
import { SecretFields } from './secret-fields.tsx'
import { formOf, isWhole, requestOf, type SecretForm } from './secret-form.ts'
import { SecretUse } from './secret-use.tsx'

export function NewSecretPage() {
  return (
    <>
      <PageHead title="New secret" />
      <Form secret={undefined} />
    </>
  )
}

/** One secret: all but its value, which can be replaced. */
export function SecretPage() {
  const { scope, name } = useParams({ from: '/secrets/$scope/$name' })
  const { client } = useAccess()
  const type = scope === 'own' ? 'User' : 'Team'
  const query = useQuery({
    queryKey: ['secrets', type, name],
    queryFn: ({ signal }) => client.secrets.get(name, { scope: type }, { signal }),
  })
  return (
    <Found kind="secret" query={query}>
      {(secret) => <OpenSecret key={`${type} ${name}`} secret={secret} />}
    </Found>
  )
}

function OpenSecret({ secret }: { secret: Secret }) {
  const { client, may_write, may_administer } = useAccess()
  const { name, scope, version, created_at, last_updated, creator } = secret
  const removal = useRemoval('secret', () => client.secrets.delete(name, { scope: scope.type }))
  return (
    <>
      <PageHead title={name}>
        {may_write ? (
          <RemoveButton
            kind="secret"
            consequence="Its value is gone at once. New runs of environments that name it fail."
            removal={removal}
          />
        ) : null}
      </PageHead>
      {removal.error ? <Problem error={removal.error} /> : null}
      <p className="mt-0 mb-6 max-w-2xl text-sm text-soft">
        <SecretUse secret={secret} />
        <span className="block">
          {scope.type === 'User' ? 'For your personal runs alone' : 'For runs of the team'} · version{' '}
          {version} · set <Ago at={last_updated} /> · created <Ago at={created_at} /> by{' '}
          {plainText(creator.display_name ?? creator.uid)}
        </span>
      </p>
      {may_write ? <Form secret={secret} /> : null}
      {scope.type === 'Team' ? (
        <div className="mt-10">
          <Grants resource_type="secret" resource_id={name} may_change={may_administer} />
        </div>
      ) : null}
    </>
  )
}

function Form({ secret }: { secret: Secret | undefined }) {
  const { client, may_write } = useAccess()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [form, setForm] = useState<SecretForm>(() => formOf(secret))
  const save = useMutation({
    mutationFn: async () => {
      const name = form.name.trim()
      if (!secret && (await isTaken(client, name, form.scope)))
        throw new Error(
          `There is a secret ${name} already. Open it to replace its value, or take another name.`,
        )
      return client.secrets.put(name, requestOf(form))
    },
    onSuccess: async (kept) => {
      setForm(formOf(kept))
      await queries.invalidateQueries({ queryKey: ['secrets'] })
      if (secret) return
      await navigate({
        to: '/secrets/$scope/$name',
        params: { scope: kept.scope.type === 'User' ? 'own' : 'team', name: kept.name },
      })
    },
  })
  return (
    <SettingsForm
      save={save}
      action={secret ? 'Replace the value' : 'Create the secret'}
      saved={`Kept as version ${save.data?.version}. Runs that have begun go on with the one before.`}
      may_change={may_write}
      can_save={isWhole(form)}
    >
      <SecretFields
        form={form}
        is_new={!secret}
        set={(change) => setForm((now) => ({ ...now, ...change }))}
      />
    </SettingsForm>
  )
}

/** To put a secret replaces the one that is there, which is not what somebody wants who makes a new one. */
async function isTaken(client: Runyard, name: string, scope: SecretForm['scope']): Promise<boolean> {
  for await (const secret of client.secrets.list({ scope })) if (secret.name === name) return true
  return false
}
