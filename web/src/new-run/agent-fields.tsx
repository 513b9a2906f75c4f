import { SelectField, TextField } from '../ui/field.tsx'
import type { AgentChoice } from './agent-choice.ts'
import { useChoices } from './choices.ts'

/** Environment, model and agent, of what there is here. Stand in a grid. */
export function AgentFields({
  form,
  set,
}: {
  form: AgentChoice
  set: (name: keyof AgentChoice) => (text: string) => void
}) {
  const { environments, models, default_model, harnesses } = useChoices()
  return (
    <>
      <SelectField label="Environment" value={form.environment} onText={set('environment')}>
        <option value="">None: an empty sandbox</option>
        {environments.map(({ uid, name }) => (
          <option key={uid} value={uid}>
            {name}
          </option>
        ))}
      </SelectField>
      <TextField
        label="Model"
        list="models"
        placeholder={default_model ?? 'provider/model'}
        value={form.model}
        onText={set('model')}
      />
      <datalist id="models">
        {models.map((id) => (
          <option key={id} value={id} />
        ))}
      </datalist>
      <SelectField label="Agent" value={form.harness} onText={set('harness')}>
        <option value="">Default</option>
        {harnesses.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </SelectField>
    </>
  )
}

/** A skill by its id, of those that were read in repositories. */
export function SkillField({ value, onText }: { value: string; onText: (text: string) => void }) {
  const { skills } = useChoices()
  return (
    <>
      <TextField label="Skill" list="skills" placeholder="owner/repo:name" value={value} onText={onText} />
      <datalist id="skills">
        {skills.map((id) => (
          <option key={id} value={id} />
        ))}
      </datalist>
    </>
  )
}
