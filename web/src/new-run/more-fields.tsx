import { TextField } from '../ui/field.tsx'
import { Fold } from '../ui/fold.tsx'
import {
  InstructionField,
  LimitFields,
  MetadataField,
  PlaceFields,
  SightFields,
  TitleField,
  WorkFields,
} from './detail-fields.tsx'
import { hasDetails } from './details.ts'
import { formOf, type Origin, type RunForm } from './run-form.ts'

const GRID = 'grid gap-4 sm:grid-cols-2'

/** What few runs are told: who executes them, what they may spend, who sees them, what they are found by. */
export function MoreFields({
  form,
  set,
  origin,
}: {
  form: RunForm
  set: (change: Partial<RunForm>) => void
  origin: Origin
}) {
  return (
    <Fold
      summary="More: run as, worker pool, sharing, limits, instructions, tool servers, metadata"
      is_open={hasDetails(form)}
    >
      <div className="grid gap-6">
        <div className={GRID}>
          <PlaceFields
            form={form}
            set={set}
            has_identity={origin !== undefined && formOf(origin).identity !== ''}
          />
          <div className="sm:col-span-2">
            <SightFields
              form={form}
              set={set}
              personal={origin?.run.scope.type === 'User' ? undefined : 'only you see it'}
            />
          </div>
        </div>
        {/* What the earlier run had is not shown by the service. */}
        <LimitFields form={form} set={set} before={origin ? 'As it was' : undefined} />
        <InstructionField form={form} set={set} />
        <WorkFields form={form} set={set} before={origin ? 'As it was' : undefined} />
        <div className={GRID}>
          <TitleField value={form.title} onText={(title) => set({ title })} />
          <TextField
            label="Label"
            hint="The list shows it in place of the model."
            maxLength={256}
            value={form.label}
            onText={(label) => set({ label })}
          />
          <div className="sm:col-span-2">
            <MetadataField form={form} set={set} />
          </div>
        </div>
      </div>
    </Fold>
  )
}
