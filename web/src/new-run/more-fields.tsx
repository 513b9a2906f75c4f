import { AreaField, TextField } from '../ui/field.tsx'
import { Fold } from '../ui/fold.tsx'
import {
  InstructionField,
  LimitFields,
  MetadataField,
  PlaceFields,
  SightFields,
  TitleField,
} from './detail-fields.tsx'
import { hasDetails } from './details.ts'
import { JsonField } from './json-field.tsx'
import { readPermissions } from './permission-lines.ts'
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
  const is_wrong = readPermissions(form.permissions) === null
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
        <AreaField
          label="Permissions"
          hint={
            is_wrong
              ? 'Each line is ACTION:TOOL or ACTION:TOOL:PATTERN; the action is allow, ask or deny.'
              : 'One rule a line. The first that fits decides; without one a call is allowed.'
          }
          aria-invalid={is_wrong}
          look="font-mono text-sm"
          rows={2}
          spellCheck={false}
          placeholder="ask:bash:git push*"
          value={form.permissions}
          onText={(permissions) => set({ permissions })}
        />
        <JsonField
          label="Tool servers (MCP)"
          hint="As JSON, by name. ${NAME} in its values is a secret or variable of the environment."
          placeholder={'{"tickets": {"url": "https://tickets.example.com/mcp"}}'}
          value={form.tool_servers}
          onText={(tool_servers) => set({ tool_servers })}
        />
        <JsonField
          label="Result"
          hint="The JSON Schema that the agent’s result has to satisfy."
          placeholder={origin ? 'As it was' : '{"type": "object", "required": ["verdict"]}'}
          value={form.output_schema}
          onText={(output_schema) => set({ output_schema })}
        />
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
