import type { AgentIdentity } from '@runyard/client'
import { plainText } from '../text/plain-text.ts'
import { SelectField, TextField } from '../ui/field.tsx'
import type { AgentChoice } from './agent-choice.ts'
import { useChoices } from './choices.ts'

type Named = Pick<AgentChoice, 'environment' | 'model' | 'harness'>

/**
 * Environment, model and agent, of what there is here. What counts where nothing is chosen: what `identity` has, or, `as_before`,
 * what the run has that this one is made from. Stand in a grid.
 */
export function AgentFields({
  form,
  set,
  identity,
  as_before = false,
  has_place = true,
}: {
  form: Named
  set: (change: Partial<Named>) => void
  identity?: AgentIdentity | undefined
  as_before?: boolean
  /** Whether the environment is chosen here. */
  has_place?: boolean
}) {
  const { environments, models, default_model, harnesses } = useChoices()
  const asIt = (has: string | undefined, else_: string) =>
    as_before
      ? 'As it was'
      : identity && has
        ? `${plainText(has)}, as ${plainText(identity.name)} has it`
        : else_
  const own = environments.find(({ uid }) => uid === identity?.environment_id)
  return (
    <>
      {has_place ? (
        <SelectField
          label="Environment"
          value={form.environment}
          onText={(environment) => set({ environment })}
        >
          <option value="">{asIt(own?.name, 'None: an empty sandbox')}</option>
          {environments.map(({ uid, name }) => (
            <option key={uid} value={uid}>
              {plainText(name)}
            </option>
          ))}
        </SelectField>
      ) : null}
      <TextField
        label="Model"
        list="models"
        placeholder={identity?.base_model || (default_model ?? 'provider/model')}
        value={form.model}
        onText={(model) => set({ model })}
      />
      <datalist id="models">
        {models.map((id) => (
          <option key={id} value={id} />
        ))}
      </datalist>
      <SelectField label="Agent" value={form.harness} onText={(harness) => set({ harness })}>
        <option value="">{asIt(identity?.harness?.type || identity?.base_harness, 'Default')}</option>
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
