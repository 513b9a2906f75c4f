import type { Trigger } from '@runyard/client'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { CopyBlock } from '../ui/copy-block.tsx'
import { Fold } from '../ui/fold.tsx'
import { Found } from '../ui/found.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { PauseButton, usePause } from '../ui/pause.tsx'
import { Problem } from '../ui/problem.tsx'
import { RemoveButton, useRemoval } from '../ui/removal.tsx'
import { SettingsForm } from '../ui/settings-form.tsx'
import { writeHookSample } from './hook-sample.ts'
import { TriggerDeliveries } from './trigger-deliveries.tsx'
import { TriggerFields } from './trigger-fields.tsx'
import { formOf, isWhole, type TriggerForm, updateOf } from './trigger-form.ts'
import { TriggerState } from './triggers-page.tsx'

/** One trigger: its address, what it does, and what came to it. */
export function TriggerPage() {
  const { trigger_id } = useParams({ from: '/triggers/$trigger_id' })
  const { client } = useAccess()
  const query = useQuery({
    queryKey: ['triggers', trigger_id],
    queryFn: ({ signal }) => client.triggers.retrieve(trigger_id, { signal }),
  })
  return (
    <Found kind="trigger" query={query}>
      {(trigger) => <OpenTrigger key={trigger_id} trigger={trigger} />}
    </Found>
  )
}

function OpenTrigger({ trigger }: { trigger: Trigger }) {
  const { client, may_write } = useAccess()
  const { trigger_id, name, enabled, url, verification, updated_by } = trigger
  const turn = usePause('trigger', enabled, {
    pause: () => client.triggers.pause(trigger_id),
    resume: () => client.triggers.resume(trigger_id),
  })
  const removal = useRemoval('trigger', () => client.triggers.delete(trigger_id))
  const problem = turn.error ?? removal.error
  return (
    <>
      <PageHead title={plainText(name)}>
        {may_write ? (
          <>
            <PauseButton enabled={enabled} turn={turn} />
            <RemoveButton
              kind="trigger"
              consequence="Its address and its history go with it. The runs that it started stay."
              removal={removal}
            />
          </>
        ) : null}
      </PageHead>
      {problem ? <Problem error={problem} /> : null}
      {(trigger.warnings ?? []).map((warning) => (
        <p key={warning} className="mt-0 mb-4 text-sm text-wait">
          {plainText(warning)}
        </p>
      ))}
      <p className="mt-0 mb-4 text-sm text-soft">
        <TriggerState trigger={trigger} /> · its runs are created as{' '}
        {plainText(updated_by.display_name ?? updated_by.uid)}
      </p>
      <div className="grid gap-x-10 gap-y-8 lg:grid-cols-[minmax(0,1fr)_24rem]">
        <div className="grid min-w-0 content-start gap-6">
          <section aria-labelledby="address" className="grid max-w-2xl gap-1">
            <h2 id="address" className="m-0 font-medium text-sm">
              Address
            </h2>
            <CopyBlock text={url} label="Copy the address" />
            <Fold summary="Try it with curl">
              <CopyBlock text={writeHookSample(verification, url)} label="Copy the script" />
            </Fold>
          </section>
          <Form trigger={trigger} />
        </div>
        <TriggerDeliveries trigger={trigger} />
      </div>
    </>
  )
}

function Form({ trigger }: { trigger: Trigger }) {
  const { client, may_write } = useAccess()
  const queries = useQueryClient()
  const [form, setForm] = useState<TriggerForm>(() => formOf(trigger))
  const save = useMutation({
    mutationFn: () => client.triggers.update(trigger.trigger_id, updateOf(form, trigger)),
    onSuccess: (saved) => {
      setForm(formOf(saved))
      return queries.invalidateQueries({ queryKey: ['triggers'] })
    },
  })
  return (
    <SettingsForm save={save} action="Save" may_change={may_write} can_save={isWhole(form)}>
      <TriggerFields
        form={form}
        trigger={trigger}
        set={(change) => setForm((now) => ({ ...now, ...change }))}
      />
    </SettingsForm>
  )
}
