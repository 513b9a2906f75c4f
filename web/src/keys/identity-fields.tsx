import { AgentFields } from '../new-run/agent-fields.tsx'
import { PoolField } from '../new-run/pool-field.tsx'
import { AreaField, TextField } from '../ui/field.tsx'
import type { IdentityForm } from './identity-form.ts'

/** What the runs of an identity are given, where they do not say otherwise. */
export function IdentityFields({
  form,
  set,
}: {
  form: IdentityForm
  set: (change: Partial<IdentityForm>) => void
}) {
  return (
    <>
      <TextField
        label="Name"
        required
        maxLength={256}
        placeholder="reviewer"
        value={form.name}
        onText={(name) => set({ name })}
      />
      <TextField
        label="Description"
        maxLength={4096}
        value={form.description}
        onText={(description) => set({ description })}
      />
      <AreaField
        label="Prompt"
        hint="Stands before the prompt of each of its runs."
        value={form.prompt}
        onText={(prompt) => set({ prompt })}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <AgentFields form={form} set={set} />
        <PoolField value={form.pool} onText={(pool) => set({ pool })} />
      </div>
      <AreaField
        label="Skills"
        hint="One a line, as /skills names them. Runs begin with the first."
        look="font-mono text-sm"
        spellCheck={false}
        value={form.skills}
        onText={(skills) => set({ skills })}
      />
    </>
  )
}
