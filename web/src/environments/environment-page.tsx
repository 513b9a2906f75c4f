import type { Environment } from '@runyard/client'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../client.ts'
import { Grants } from '../keys/grants.tsx'
import { plainText } from '../text/plain-text.ts'
import { buttonClass } from '../ui/button.tsx'
import { AreaField, SelectField, TextField } from '../ui/field.tsx'
import { Found } from '../ui/found.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { Problem } from '../ui/problem.tsx'
import { RemoveButton, useRemoval } from '../ui/removal.tsx'
import { SettingsForm } from '../ui/settings-form.tsx'
import { EnvironmentDetails } from './environment-details.tsx'
import { configOf, type EnvironmentForm, formOf, hasLongCommands, isWhole } from './environment-form.ts'

export function NewEnvironmentPage() {
  return (
    <>
      <PageHead title="New environment" />
      <Form environment={undefined} />
    </>
  )
}

export function EnvironmentPage() {
  const { uid } = useParams({ from: '/environments/$uid' })
  const { client } = useAccess()
  const query = useQuery({
    queryKey: ['environments', uid],
    queryFn: ({ signal }) => client.environments.retrieve(uid, { signal }),
  })
  return (
    <Found kind="environment" query={query}>
      {(environment) => <OpenEnvironment key={uid} environment={environment} />}
    </Found>
  )
}

function OpenEnvironment({ environment }: { environment: Environment }) {
  const { uid, config } = environment
  const { client, may_write, may_administer } = useAccess()
  const removal = useRemoval('environment', () => client.environments.delete(uid))
  return (
    <>
      <PageHead title={plainText(config.name)}>
        <Link to="/" search={{ environment: config.name }} className={buttonClass()}>
          Runs in this environment
        </Link>
        {may_write ? (
          <>
            <Link to="/new" search={{ environment: uid }} className={buttonClass()}>
              New run here
            </Link>
            <RemoveButton
              kind="environment"
              consequence="Runs that have it stay, and go on with it. No new run can name it."
              removal={removal}
            />
          </>
        ) : null}
      </PageHead>
      {removal.error ? <Problem error={removal.error} /> : null}
      <Form environment={environment} />
      <div className="mt-10">
        <Grants resource_type="environment" resource_id={uid} may_change={may_administer} />
      </div>
    </>
  )
}

function Form({ environment }: { environment: Environment | undefined }) {
  const { client, may_write } = useAccess()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [form, setForm] = useState<EnvironmentForm>(() => formOf(environment?.config))
  const save = useMutation({
    mutationFn: () => {
      const config = configOf(form, environment?.config)
      return environment
        ? client.environments.update(environment.uid, config)
        : client.environments.create(config)
    },
    onSuccess: async ({ uid, config }) => {
      setForm(formOf(config))
      await queries.invalidateQueries({ queryKey: ['environments'] })
      await navigate({ to: '/environments/$uid', params: { uid } })
    },
  })
  const change = (said: Partial<EnvironmentForm>) => setForm((now) => ({ ...now, ...said }))
  const set = (name: keyof EnvironmentForm) => (text: string) => change({ [name]: text })
  const area = (
    name: 'repositories' | 'setup_commands' | 'variables' | 'secrets',
    label: string,
    hint: string,
  ) => (
    <AreaField
      label={label}
      hint={hint}
      look="font-mono text-sm"
      spellCheck={false}
      value={form[name]}
      onText={set(name)}
    />
  )
  return (
    <SettingsForm
      save={save}
      action={environment ? 'Save' : 'Create the environment'}
      may_change={may_write}
      can_save={isWhole(form)}
    >
      <TextField label="Name" required maxLength={256} value={form.name} onText={set('name')} />
      <TextField
        label="What it is for"
        maxLength={4096}
        value={form.description}
        onText={set('description')}
      />
      <TextField
        label="Image"
        hint="For Docker; else the machine’s own tools."
        placeholder="node:24-bookworm"
        value={form.image}
        onText={set('image')}
      />
      {area(
        'repositories',
        'Repositories',
        'One a line: the address, or owner/repo of GitHub, then a branch, tag or commit if you want one. A path of the worker’s machine begins with a slash.',
      )}
      {hasLongCommands(environment?.config) ? (
        <p className="m-0 text-sm text-soft">
          The setup has commands of several lines, which this form leaves alone. Change them with{' '}
          <code>runyard env update</code>.
        </p>
      ) : (
        area(
          'setup_commands',
          'Setup commands',
          'One a line. They run in order before the agent begins, where it begins: in the repository’s folder if there is one repository, else in /workspace.',
        )
      )}
      {area('variables', 'Variables', 'One a line, NAME=value. A value of *** stays as it is stored.')}
      {area('secrets', 'Secrets', 'Names of what is kept under Secrets.')}
      <SelectField label="When a run succeeds" value={form.on_success} onText={set('on_success')}>
        <option value="nothing">Keep the changes as a patch</option>
        <option value="branch">Push a branch</option>
        <option value="pull_request">Open a pull request</option>
      </SelectField>
      <SelectField
        label="Pull requests of runs are merged"
        value={form.merge_method}
        onText={set('merge_method')}
      >
        <option value="">At their host alone</option>
        <option value="squash">Here too, as one commit</option>
        <option value="merge">Here too, by a merge commit</option>
        <option value="rebase">Here too, rebased (GitHub alone)</option>
      </SelectField>
      <EnvironmentDetails form={form} set={change} />
    </SettingsForm>
  )
}
