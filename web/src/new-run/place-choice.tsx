import { plainText } from '../text/plain-text.ts'
import { SelectField } from '../ui/field.tsx'
import { useChoices } from './choices.ts'
import { RepositoryFields } from './repository-fields.tsx'
import type { RunForm } from './run-form.ts'

/** Where the run works: in an environment, in a repository of its own, or in an empty sandbox. */
export function PlaceChoice({
  form,
  set,
  otherwise,
}: {
  form: Pick<RunForm, 'environment' | 'repository' | 'ref'>
  set: (change: Partial<RunForm>) => void
  /** What counts when no environment is chosen. */
  otherwise: string
}) {
  const { environments, repositories } = useChoices()
  const chosen = environments.find(({ uid }) => uid === form.environment)
  const its_own = chosen?.repositories.map(plainText).join(', ')
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <SelectField
        label="Environment"
        hint={its_own || undefined}
        value={form.environment}
        onText={(environment) => set({ environment })}
      >
        <option value="">{otherwise}</option>
        {/* A name, or one that is gone: it must be seen to be changed. */}
        {form.environment && !chosen ? (
          <option value={form.environment}>{plainText(form.environment)}</option>
        ) : null}
        {environments.map(({ uid, name }) => (
          <option key={uid} value={uid}>
            {plainText(name)}
          </option>
        ))}
      </SelectField>
      {form.environment ? null : <RepositoryFields form={form} set={set} known={repositories} />}
    </div>
  )
}
