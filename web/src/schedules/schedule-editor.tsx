import type { ScheduledAgentItem } from '@runyard/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../client.ts'
import { useIdentityChoices } from '../keys/identity-queries.ts'
import { AgentFields, SkillField } from '../new-run/agent-fields.tsx'
import { DetailFields, TitleField } from '../new-run/detail-fields.tsx'
import { hasDetails } from '../new-run/details.ts'
import { AreaField, SelectField, TextField } from '../ui/field.tsx'
import { Fold } from '../ui/fold.tsx'
import { SettingsForm } from '../ui/settings-form.tsx'
import { creationOf, formOf, isWhole, type ScheduleForm, updateOf } from './schedule-form.ts'
import { TypedTimes } from './typed-times.tsx'

const OVERLAPS = { skip: 'Start none', allow: 'Start one more', cancel: 'Cancel the earlier one' } as const
const CATCH_UPS = { latest: 'Start one run', skip: 'Start none' } as const

/** What a schedule says: a new one, or one that is there. */
export function ScheduleEditor({ schedule }: { schedule: ScheduledAgentItem | undefined }) {
  const { client, may_write } = useAccess()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [form, setForm] = useState<ScheduleForm>(() =>
    formOf(schedule, Intl.DateTimeFormat().resolvedOptions().timeZone),
  )
  const save = useMutation({
    mutationFn: () =>
      schedule
        ? client.schedules.update(schedule.id, updateOf(form, schedule))
        : client.schedules.create(creationOf(form)),
    onSuccess: async ({ id }) => {
      await queries.invalidateQueries({ queryKey: ['schedules'] })
      // Of one that was there its page is open, unless the reader has left it meanwhile.
      if (!schedule) await navigate({ to: '/schedules/$schedule_id', params: { schedule_id: id } })
    },
  })
  return (
    <SettingsForm
      save={save}
      action={schedule ? 'Save' : 'Create the schedule'}
      may_change={may_write}
      can_save={isWhole(form)}
    >
      <ScheduleFields
        form={form}
        is_new={!schedule}
        is_changed={form.cron !== schedule?.cron_schedule || form.zone !== schedule.time_zone}
        set={(change) => setForm((now) => ({ ...now, ...change }))}
      />
    </SettingsForm>
  )
}

function ScheduleFields({
  form,
  is_new,
  is_changed,
  set,
}: {
  form: ScheduleForm
  is_new: boolean
  /** Its times are not those that it has. */
  is_changed: boolean
  set: (change: Partial<ScheduleForm>) => void
}) {
  const { all } = useIdentityChoices()
  return (
    <>
      <TextField
        label="Name"
        required
        maxLength={256}
        placeholder="nightly"
        value={form.name}
        onText={(name) => set({ name })}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label="When"
          required
          spellCheck={false}
          placeholder="0 3 * * *"
          hint="Cron: minute, hour, day, month, day of the week; a sixth field in front is seconds."
          value={form.cron}
          onText={(cron) => set({ cron })}
        />
        <TextField
          label="Time zone"
          required
          placeholder="Europe/Berlin"
          value={form.zone}
          onText={(zone) => set({ zone })}
        />
      </div>
      <TypedTimes cron={form.cron} zone={form.zone} is_changed={is_changed} />
      <AreaField
        label="Prompt"
        rows={5}
        look="min-h-28"
        placeholder="Update the dependencies and run the tests."
        value={form.prompt}
        onText={(prompt) => set({ prompt })}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <AgentFields form={form} set={set} identity={all.find(({ uid }) => uid === form.identity)} />
        <SkillField value={form.skill} onText={(skill) => set({ skill })} />
        <SelectField
          label="While an earlier run still works"
          value={form.overlap}
          onText={(overlap) => set({ overlap: overlap as ScheduleForm['overlap'] })}
        >
          {Object.entries(OVERLAPS).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectField>
        <SelectField
          label="For times that were missed"
          hint="While the service was down."
          value={form.catch_up}
          onText={(catch_up) => set({ catch_up: catch_up as ScheduleForm['catch_up'] })}
        >
          {Object.entries(CATCH_UPS).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectField>
      </div>
      <Fold
        summary="More: run as, worker pool, sharing, limits, instructions, tool servers, title, metadata"
        is_open={hasDetails(form) || form.title !== ''}
      >
        <DetailFields form={form} set={set} personal={is_new ? 'only you see it and its runs' : undefined}>
          <TitleField label="Title of its runs" value={form.title} onText={(title) => set({ title })} />
        </DetailFields>
      </Fold>
    </>
  )
}
