import { useChoices } from '../new-run/choices.ts'
import { Field, SelectField, TextField } from '../ui/field.tsx'
import type { IdentityForm } from './identity-form.ts'

/** What the runs of an identity are given, where they do not say otherwise. */
export function IdentityFields({
  form,
  set,
}: {
  form: IdentityForm
  set: (name: keyof IdentityForm) => (text: string) => void
}) {
  const { environments, models, default_model, harnesses } = useChoices()
  const area = (name: 'prompt' | 'skills', label: string, hint: string, look: string) => (
    <Field label={label} hint={hint}>
      {(given) => (
        <textarea
          {...given}
          rows={3}
          spellCheck={name === 'prompt'}
          className={`${given.className} field-sizing-content max-h-80 py-2 ${look}`}
          value={form[name]}
          onChange={(event) => set(name)(event.target.value)}
        />
      )}
    </Field>
  )
  return (
    <>
      <TextField
        label="Name"
        required
        maxLength={256}
        placeholder="reviewer"
        value={form.name}
        onText={set('name')}
      />
      <TextField label="Description" maxLength={4096} value={form.description} onText={set('description')} />
      {area('prompt', 'Prompt', 'Stands before the prompt of each of its runs.', '')}
      <div className="grid gap-4 sm:grid-cols-2">
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
        <SelectField label="Agent" value={form.harness} onText={set('harness')}>
          <option value="">Default</option>
          {harnesses.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </SelectField>
        <TextField
          label="Worker pool"
          maxLength={128}
          placeholder="Any"
          value={form.pool}
          onText={set('pool')}
        />
        <datalist id="models">
          {models.map((id) => (
            <option key={id} value={id} />
          ))}
        </datalist>
      </div>
      {area(
        'skills',
        'Skills',
        'One a line, as /skills names them. Runs begin with the first.',
        'font-mono text-sm',
      )}
    </>
  )
}
