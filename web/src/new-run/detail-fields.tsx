import type { ReactNode } from 'react'
import { useIdentityChoices } from '../keys/identity-queries.ts'
import { plainText } from '../text/plain-text.ts'
import { AreaField, CheckField, SelectField, TextField } from '../ui/field.tsx'
import { BudgetFields } from './budget-fields.tsx'
import type { Details } from './details.ts'
import { JsonField } from './json-field.tsx'
import { PermissionField } from './permission-field.tsx'
import { PoolField } from './pool-field.tsx'

const GRID = 'grid gap-4 sm:grid-cols-2'
const THREE = 'grid gap-4 sm:grid-cols-3'

interface Part {
  form: Details
  set: (change: Partial<Details>) => void
}

/** Who executes runs and where. `has_identity`: a run of one is repeated, so that somebody's own is no choice. Stand in a grid. */
export function PlaceFields({ form, set, has_identity = false }: Part & { has_identity?: boolean }) {
  const { all, usable } = useIdentityChoices()
  const chosen = all.find(({ uid }) => uid === form.identity)
  const is_offered = form.identity === '' || usable.some(({ uid }) => uid === form.identity)
  return (
    <>
      <SelectField
        label="Run as"
        hint={form.is_personal ? 'A personal run is your own.' : undefined}
        disabled={form.is_personal}
        value={form.identity}
        onText={(identity) => set({ identity })}
      >
        {has_identity ? null : <option value="">Yourself</option>}
        {is_offered ? null : (
          <option value={form.identity}>{plainText(chosen?.name ?? form.identity)}</option>
        )}
        {usable.map(({ uid, name }) => (
          <option key={uid} value={uid}>
            {plainText(name)}
          </option>
        ))}
      </SelectField>
      <PoolField value={form.pool} onText={(pool) => set({ pool })} otherwise={chosen?.worker_host} />
    </>
  )
}

/** Who sees what comes of it. `personal`: what that means here; left out where it was settled before. */
export const SightFields = ({ form, set, personal }: Part & { personal?: string | undefined }) => (
  <div className="grid gap-1.5">
    {personal ? (
      <CheckField
        label={`Personal: ${personal}`}
        disabled={form.identity !== ''}
        checked={form.is_personal}
        onCheck={(is_personal) => set({ is_personal })}
      />
    ) : null}
    <CheckField
      label="The link in the API’s answers opens the page of a run without a key, for 15 minutes each"
      checked={form.is_public}
      onCheck={(is_public) => set({ is_public })}
    />
  </div>
)

/** What its runs may spend and which of them is first. `before`: what counts where nothing is said, of a run that repeats another. */
export const LimitFields = ({ form, set, before }: Part & { before?: string | undefined }) => (
  <>
    <div className={THREE}>
      <BudgetFields form={form} set={set} unlimited={before} />
    </div>
    <div className={THREE}>
      <TextField
        label="Priority"
        hint="Of your runs that wait, the highest is next."
        type="number"
        min="-100"
        max="100"
        step="1"
        placeholder={before ?? '0'}
        value={form.priority}
        onText={(priority) => set({ priority })}
      />
      <EffortFields form={form} set={set} />
    </div>
  </>
)

/** As the built-in agent knows them; others have none. */
const LEVELS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/** How the agent works. Stand in a grid. */
const EffortFields = ({ form, set }: Part) => (
  <>
    <SelectField
      label="Reasoning"
      hint="Of the built-in agent."
      value={form.effort}
      onText={(effort) => set({ effort })}
    >
      <option value="">Default</option>
      {LEVELS.map((level) => (
        <option key={level}>{level}</option>
      ))}
    </SelectField>
    <TextField
      label="Keep sandbox, minutes"
      hint="After each turn, for the next message."
      type="number"
      min="0"
      max="60"
      step="1"
      placeholder="10"
      value={form.idle_minutes}
      onText={(idle_minutes) => set({ idle_minutes })}
    />
  </>
)

/** Of runs. */
export const TitleField = ({
  value,
  onText,
  ...words
}: {
  value: string
  onText: (title: string) => void
  label?: string
  hint?: string
}) => (
  <TextField
    label="Title"
    {...words}
    maxLength={512}
    placeholder="The first line of the prompt"
    value={value}
    onText={onText}
  />
)

export const InstructionField = ({ form, set }: Part) => (
  <AreaField
    label="Instructions"
    hint="Stand before the prompt, as “You are a careful reviewer.”"
    value={form.base_prompt}
    onText={(base_prompt) => set({ base_prompt })}
  />
)

export const MetadataField = ({ form, set }: Part) => (
  <AreaField
    label="Metadata"
    hint="One a line, key=value: to find the run by, from the command line and the API."
    look="font-mono text-sm"
    rows={2}
    spellCheck={false}
    placeholder="ticket=42"
    value={form.metadata}
    onText={(metadata) => set({ metadata })}
  />
)

const KEEPS = '*** keeps the value that is there.'
// biome-ignore lint/suspicious/noTemplateCurlyInString: it is what people type.
const NAMES = '${NAME} in its values is a secret or variable of the environment.'

/** What the agent may do, with which further tools, and what it has to hand in. `before`: as of the limits. */
export function WorkFields({ form, set, before }: Part & { before?: string | undefined }) {
  return (
    <>
      <PermissionField value={form.permissions} onText={(permissions) => set({ permissions })} />
      <JsonField
        label="Tool servers (MCP)"
        hint={`As JSON, by name. ${form.tool_servers.includes('***') ? KEEPS : NAMES}`}
        placeholder={'{"tickets": {"url": "https://tickets.example.com/mcp"}}'}
        value={form.tool_servers}
        onText={(tool_servers) => set({ tool_servers })}
      />
      <JsonField
        label="Result"
        hint="The JSON Schema that the agent’s result has to satisfy."
        placeholder={before ?? '{"type": "object", "required": ["verdict"]}'}
        value={form.output_schema}
        onText={(output_schema) => set({ output_schema })}
      />
    </>
  )
}

/** All of them, for what starts runs by itself. `children`: what else its runs are told. */
export const DetailFields = ({
  personal,
  children,
  ...part
}: Part & { personal?: string | undefined; children?: ReactNode }) => (
  <div className="grid gap-6">
    <div className={GRID}>
      <PlaceFields {...part} />
      <div className="sm:col-span-2">
        <SightFields {...part} personal={personal} />
      </div>
    </div>
    <LimitFields {...part} />
    <InstructionField {...part} />
    <WorkFields {...part} />
    {children}
    <MetadataField {...part} />
  </div>
)
