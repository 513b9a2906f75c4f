import type { Trigger } from '@runyard/client'
import { useQuery } from '@tanstack/react-query'
import { useAccess } from '../client.ts'
import { useIdentityChoices } from '../keys/identity-queries.ts'
import { AgentFields, SkillField } from '../new-run/agent-fields.tsx'
import { DetailFields, TitleField } from '../new-run/detail-fields.tsx'
import { hasDetails } from '../new-run/details.ts'
import { AreaField, SelectField, TextField } from '../ui/field.tsx'
import { Fold } from '../ui/fold.tsx'
import { FilterTrial } from './filter-trial.tsx'
import { SENDERS } from './hook-sample.ts'
import type { TriggerForm, Verification } from './trigger-form.ts'

/** `trigger`: the one that is there; whose a new one is, is chosen once. */
export function TriggerFields({
  form,
  trigger,
  set,
}: {
  form: TriggerForm
  trigger: Trigger | undefined
  set: (change: Partial<TriggerForm>) => void
}) {
  const text = (name: keyof TriggerForm) => (value: string) => set({ [name]: value })
  const { verification } = form
  const is_new = !trigger
  const { may_write } = useAccess()
  const { all } = useIdentityChoices()
  return (
    <>
      <TextField
        label="Name"
        required
        maxLength={256}
        placeholder="Labelled issues"
        value={form.name}
        onText={text('name')}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <SelectField
          label="Who sends"
          value={verification}
          onText={(value) => set({ verification: value as Verification })}
        >
          {Object.entries(SENDERS).map(([value, { label }]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectField>
        <TextField
          label="Signing secret"
          type="password"
          minLength={8}
          maxLength={512}
          autoComplete="new-password"
          spellCheck={false}
          hint={is_new ? SENDERS[verification].secret : 'Left empty, it stays as it is.'}
          value={form.secret}
          onText={text('secret')}
        />
      </div>
      <AreaField
        label="Prompt"
        hint={
          <>
            <code>{'{{payload.issue.title}}'}</code> and <code>{'{{headers.x-name}}'}</code> are filled in.
            Strangers may have written what is put in.
          </>
        }
        rows={5}
        look="min-h-28"
        placeholder="Fix this issue and open a pull request: {{payload.issue.title}}"
        value={form.prompt}
        onText={text('prompt')}
      />
      <AreaField
        label="Filter"
        hint="A CEL expression over payload and headers. Only where it is true something happens; empty, always."
        look="font-mono text-sm"
        rows={2}
        spellCheck={false}
        placeholder={'payload.action == "labeled" && payload.label.name == "agent"'}
        value={form.filter}
        onText={text('filter')}
      />
      {trigger && may_write ? <FilterTrial trigger={trigger} filter={form.filter} /> : null}
      <TitleField
        label="Title of its runs"
        hint="Filled in as the prompt is."
        value={form.title}
        onText={text('title')}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <AgentFields form={form} set={set} identity={all.find(({ uid }) => uid === form.identity)} />
        <SkillField value={form.skill} onText={text('skill')} />
      </div>
      <SelectField
        label="News of a pull request that a run has opened"
        value={form.on_open_run}
        onText={(value) => set({ on_open_run: value as TriggerForm['on_open_run'] })}
      >
        <option value="followup">Go to that run</option>
        <option value="new_run">Start a new run</option>
      </SelectField>
      {verification === 'github' ? <ReplyFields form={form} set={set} /> : null}
      <HookDetails form={form} set={set} is_new={is_new} />
    </>
  )
}

/** What is said of the runs that are started without anybody asking. */
const HookDetails = ({
  form,
  set,
  is_new,
}: {
  form: TriggerForm
  set: (change: Partial<TriggerForm>) => void
  is_new: boolean
}) => (
  <Fold
    summary="More: run as, worker pool, sharing, limits, instructions, tool servers, metadata"
    is_open={hasDetails(form)}
  >
    <DetailFields form={form} set={set} personal={is_new ? 'only you see it and its runs' : undefined} />
  </Fold>
)

/** Answers in the thread that a delivery came from. */
function ReplyFields({ form, set }: { form: TriggerForm; set: (change: Partial<TriggerForm>) => void }) {
  const { client } = useAccess()
  const { data = [] } = useQuery({
    queryKey: ['secrets', 'names'],
    queryFn: async ({ signal }) =>
      (await client.secrets.list({}, { signal })).secrets.filter(({ git }) => git && !git.read_only),
    staleTime: 60_000,
  })
  const names = [...new Set([...data.map(({ name }) => name), form.reply_secret])].filter(Boolean)
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <SelectField
        label="Answer in the thread"
        hint="With a token of git that may write comments."
        value={form.reply_secret}
        onText={(reply_secret) => set({ reply_secret })}
      >
        <option value="">No</option>
        {names.map((name) => (
          <option key={name} value={name}>
            With {name}
          </option>
        ))}
      </SelectField>
      {form.reply_secret ? (
        <SelectField
          label="When"
          value={form.reply_when}
          onText={(value) => set({ reply_when: value as TriggerForm['reply_when'] })}
        >
          <option value="start_and_end">At the start, changed at the end</option>
          <option value="end">At the end alone</option>
        </SelectField>
      ) : null}
    </div>
  )
}
