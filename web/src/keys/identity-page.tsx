import type { AgentIdentity } from '@runyard/client'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../client.ts'
import { sessionQuery } from '../shell/session.ts'
import { plainText } from '../text/plain-text.ts'
import { buttonClass } from '../ui/button.tsx'
import { Found } from '../ui/found.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { Problem } from '../ui/problem.tsx'
import { RemoveButton, useRemoval } from '../ui/removal.tsx'
import { SettingsForm } from '../ui/settings-form.tsx'
import { Grants } from './grants.tsx'
import { IdentityFields } from './identity-fields.tsx'
import { formOf, type IdentityForm, requestOf } from './identity-form.ts'
import { identityQuery, useIdentityChoices } from './identity-queries.ts'
import { KeyRows } from './key-rows.tsx'
import { NewKey } from './new-key.tsx'

export function NewIdentityPage() {
  return (
    <>
      <PageHead title="New identity" />
      <Form identity={undefined} may_change />
    </>
  )
}

/** One service account: what its runs are given, its keys, and who may use it. */
export function IdentityPage() {
  const { uid } = useParams({ from: '/keys/identities/$uid' })
  const { client } = useAccess()
  const query = useQuery(identityQuery(client, uid))
  return (
    <Found kind="identity" query={query}>
      {(identity) => <OpenIdentity identity={identity} />}
    </Found>
  )
}

function OpenIdentity({ identity }: { identity: AgentIdentity }) {
  const { uid, name, creator } = identity
  const { client, may_administer, may_write } = useAccess()
  const { data: session } = useQuery(sessionQuery)
  const { usable } = useIdentityChoices()
  const may_change = may_administer || (may_write && session?.principal.uid === creator.uid)
  const queries = useQueryClient()
  const removal = useRemoval('identity', async () => {
    await client.identities.delete(uid)
    // Its keys went with it.
    await queries.invalidateQueries({ queryKey: ['api-keys'] })
  })
  return (
    <>
      <PageHead title={plainText(name)}>
        <Link to="/" search={{ creator: uid }} className={buttonClass()}>
          Runs it created
        </Link>
        {usable.some((each) => each.uid === uid) && may_write ? (
          <Link to="/new" search={{ identity: uid }} className={buttonClass()}>
            New run as {plainText(name)}
          </Link>
        ) : null}
        {may_change ? (
          <RemoveButton
            kind="identity"
            consequence="Its keys end with it. Its runs stay."
            removal={removal}
          />
        ) : null}
      </PageHead>
      {removal.error ? <Problem error={removal.error} /> : null}
      <Form key={uid} identity={identity} may_change={may_change} />
      {may_administer ? (
        <section aria-labelledby="keys" className="mt-10 grid gap-4">
          <h2 id="keys" className="m-0 font-semibold text-base">
            Its keys
          </h2>
          <NewKey identity_uid={uid} />
          <KeyRows principal_id={uid} />
        </section>
      ) : null}
      <div className="mt-10">
        <Grants resource_type="identity" resource_id={uid} may_change={may_change} />
      </div>
    </>
  )
}

function Form({ identity, may_change }: { identity: AgentIdentity | undefined; may_change: boolean }) {
  const { client } = useAccess()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [form, setForm] = useState<IdentityForm>(() => formOf(identity))
  const save = useMutation({
    mutationFn: () => {
      const request = requestOf(form, identity)
      return identity ? client.identities.update(identity.uid, request) : client.identities.create(request)
    },
    onSuccess: async (saved) => {
      setForm(formOf(saved))
      await queries.invalidateQueries({ queryKey: ['identities'] })
      if (!identity) await navigate({ to: '/keys/identities/$uid', params: { uid: saved.uid } })
    },
  })
  return (
    <SettingsForm
      save={save}
      action={identity ? 'Save' : 'Create the identity'}
      may_change={may_change}
      can_save={form.name.trim() !== ''}
    >
      <IdentityFields form={form} set={(change) => setForm((now) => ({ ...now, ...change }))} />
    </SettingsForm>
  )
}
