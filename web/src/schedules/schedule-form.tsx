import type { ScheduledAgentItem } from '@runyard/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../client.ts'
import { choiceOf, configOf } from '../new-run/agent-choice.ts'
import { AgentFields } from '../new-run/agent-fields.tsx'
import { AreaField, SelectField, TextField } from '../ui/field.tsx'
import { SettingsForm } from '../ui/settings-form.tsx'

const OVERLAPS = { skip: 'Start none', allow: 'Start one more', cancel: 'Cancel the earlier one' } as const
type Overlap = keyof typeof OVERLAPS

/** What a schedule says; what the form does not show stays as it was. */
export function ScheduleForm({ schedule }: { schedule: ScheduledAgentItem | undefined }) {
  const { client, may_write } = useAccess()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [name, setName] = useState(schedule?.name ?? '')
  const [cron, setCron] = useState(schedule?.cron_schedule ?? '')
  const [zone, setZone] = useState(schedule?.time_zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone)
  const [prompt, setPrompt] = useState(schedule?.prompt ?? '')
  const [agent, setAgent] = useState(() => choiceOf(schedule?.agent_config))
  const [overlap, setOverlap] = useState<Overlap>(schedule?.overlap ?? 'skip')
  const save = useMutation({
    mutationFn: () => {
      const said = {
        name: name.trim(),
        cron_schedule: cron.trim(),
        time_zone: zone.trim(),
        ...(prompt.trim() ? { prompt } : {}),
        agent_config: configOf(agent, schedule?.agent_config),
        overlap,
      }
      if (!schedule) return client.schedules.create(said)
      const { id, enabled, metadata, mode, agent_uid, catch_up } = schedule
      const kept = {
        enabled,
        metadata,
        catch_up,
        ...(mode ? { mode } : {}),
        ...(agent_uid ? { agent_uid } : {}),
      }
      return client.schedules.update(id, { ...kept, ...said })
    },
    onSuccess: async ({ id }) => {
      await queries.invalidateQueries({ queryKey: ['schedules'] })
      await navigate({ to: '/schedules/$schedule_id', params: { schedule_id: id } })
    },
  })
  return (
    <SettingsForm
      save={save}
      action={schedule ? 'Save' : 'Create the schedule'}
      may_change={may_write}
      can_save={name.trim() !== '' && cron.trim() !== ''}
    >
      <TextField label="Name" required maxLength={256} value={name} onText={setName} placeholder="nightly" />
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label="When"
          required
          spellCheck={false}
          placeholder="0 3 * * *"
          hint="Cron: minute, hour, day, month, day of the week; a sixth field in front is seconds."
          value={cron}
          onText={setCron}
        />
        <TextField label="Time zone" required placeholder="Europe/Berlin" value={zone} onText={setZone} />
      </div>
      <AreaField label="Prompt" rows={5} look="min-h-28" value={prompt} onText={setPrompt} />
      <div className="grid gap-4 sm:grid-cols-2">
        <AgentFields form={agent} set={(field) => (text) => setAgent((now) => ({ ...now, [field]: text }))} />
        <SelectField
          label="While an earlier run still works"
          value={overlap}
          onText={(text) => setOverlap(text as Overlap)}
        >
          {Object.entries(OVERLAPS).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectField>
      </div>
    </SettingsForm>
  )
}
