import type { TriggerWithSecret } from '@runyard/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { buttonClass } from '../ui/button.tsx'
import { CopyBlock } from '../ui/copy-block.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { SettingsForm } from '../ui/settings-form.tsx'
import { writeHookSample } from './hook-sample.ts'
import { TriggerFields } from './trigger-fields.tsx'
import { creationOf, formOf, isWhole, type TriggerForm } from './trigger-form.ts'

export function NewTriggerPage() {
  const { client, may_write } = useAccess()
  const queries = useQueryClient()
  const [form, setForm] = useState<TriggerForm>(() => formOf(undefined))
  const create = useMutation({
    mutationFn: () => client.triggers.create(creationOf(form)),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['triggers'] }),
  })
  if (create.data) return <Made trigger={create.data} has_own_secret={form.secret.trim() !== ''} />
  return (
    <>
      <PageHead title="New trigger" />
      <SettingsForm save={create} action="Create the trigger" may_change={may_write} can_save={isWhole(form)}>
        <TriggerFields
          form={form}
          trigger={undefined}
          set={(change) => setForm((now) => ({ ...now, ...change }))}
        />
      </SettingsForm>
    </>
  )
}

/** What the sender is to be given; the secret is nowhere else. */
function Made({ trigger, has_own_secret }: { trigger: TriggerWithSecret; has_own_secret: boolean }) {
  const { trigger_id, name, url, verification, secret } = trigger
  return (
    <>
      <PageHead title={plainText(name)}>
        <Link to="/triggers/$trigger_id" params={{ trigger_id }} className={buttonClass()}>
          Open the trigger
        </Link>
      </PageHead>
      <div role="status" className="grid max-w-3xl gap-5">
        <p className="m-0 text-good text-sm">It is there. Give its sender these two:</p>
        <section className="grid gap-1">
          <h2 className="m-0 font-medium text-sm">Address</h2>
          <CopyBlock text={url} label="Copy the address" />
        </section>
        {has_own_secret ? null : (
          <section className="grid gap-1">
            <h2 className="m-0 font-medium text-sm">Secret</h2>
            <p className="m-0 text-sm text-soft">Copy it now: it is not shown again.</p>
            <CopyBlock text={secret} label="Copy the secret" />
          </section>
        )}
        <section className="grid gap-1">
          <h2 className="m-0 font-medium text-sm">Try it</h2>
          <CopyBlock
            text={writeHookSample(verification, url, has_own_secret ? undefined : secret)}
            label="Copy the script"
          />
        </section>
      </div>
    </>
  )
}
