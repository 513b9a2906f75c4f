import type { ScheduledAgentItem } from '@runyard/client'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../client.ts'
import { environmentsQuery } from '../environments/environment-queries.ts'
import { Button } from '../ui/button.tsx'
import { Field, SelectField, TextField } from '../ui/field.tsx'
import { Problem } from '../ui/problem.tsx'

const OVERLAPS = { skip: 'Start none', allow: 'Start one more', cancel: 'Cancel the earlier one' } as const
type Overlap = keyof typeof OVERLAPS

/** What a schedule says; what the form does not show stays as it was. */
export function ScheduleForm({ schedule }: { schedule: ScheduledAgentItem | undefined }) {
  const { client, may_write } = useAccess()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const { data: environments = [] } = useQuery(environmentsQuery(client))
  const [name, setName] = useState(schedule?.name ?? '')
  const [cron, setCron] = useState(schedule?.cron_schedule ?? '')
  const [zone, setZone] = useState(schedule?.time_zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone)
  const [prompt, setPrompt] = useState(schedule?.prompt ?? '')
  const [environment, setEnvironment] = useState(schedule?.agent_config.environment_id ?? '')
  const [overlap, setOverlap] = useState<Overlap>(schedule?.overlap ?? 'skip')
  const save = useMutation({
    mutationFn: () => {
      const { environment_id: _, ...config } = schedule?.agent_config ?? {}
      const said = {
        name: name.trim(),
        cron_schedule: cron.trim(),
        time_zone: zone.trim(),
        ...(prompt.trim() ? { prompt } : {}),
        agent_config: { ...config, ...(environment ? { environment_id: environment } : {}) },
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
    <form
      className="grid max-w-2xl content-start gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        save.mutate()
      }}
    >
      <fieldset disabled={!may_write} className="m-0 grid gap-4 border-0 p-0">
        <TextField
          label="Name"
          required
          maxLength={256}
          value={name}
          onText={setName}
          placeholder="nightly"
        />
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
        <Field label="Prompt">
          {(given) => (
            <textarea
              {...given}
              rows={5}
              className={`${given.className} field-sizing-content max-h-[50vh] min-h-28 py-2`}
              value={prompt}
              onChange={(event) => setPrompt(event.target.value)}
            />
          )}
        </Field>
        <div className="grid gap-4 sm:grid-cols-2">
          <SelectField label="Environment" value={environment} onText={setEnvironment}>
            <option value="">None: an empty sandbox</option>
            {environments.map(({ uid, config }) => (
              <option key={uid} value={uid}>
                {config.name}
              </option>
            ))}
          </SelectField>
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
        {save.error ? <Problem error={save.error} /> : null}
        {save.isSuccess ? (
          <p role="status" className="m-0 text-good text-sm">
            Saved.
          </p>
        ) : null}
        {may_write ? (
          <div>
            <Button kind="primary" type="submit" disabled={save.isPending || !name.trim() || !cron.trim()}>
              {schedule ? 'Save' : 'Create the schedule'}
            </Button>
          </div>
        ) : null}
      </fieldset>
    </form>
  )
}
