import type { ReactNode } from 'react'
import { AreaField, CheckField, SelectField, TextField } from '../ui/field.tsx'
import { Fold } from '../ui/fold.tsx'
import type { SecretForm, SecretKind, SecretScope } from './secret-form.ts'

const KINDS: Record<SecretKind, string> = {
  variable: 'A variable for the commands of runs',
  git: 'A token of git, which enters no sandbox',
  registry: 'A password for a registry of images',
}
const VALUES: Record<SecretKind, string> = { variable: 'Value', git: 'Token', registry: 'Password' }

/** `is_new`: name, kind, scope and host are chosen once. */
export function SecretFields({
  form,
  is_new,
  set,
}: {
  form: SecretForm
  is_new: boolean
  set: (change: Partial<SecretForm>) => void
}) {
  const { kind } = form
  const text = (name: keyof SecretForm) => (value: string) => set({ [name]: value })
  return (
    <>
      {is_new ? <Choices form={form} set={set} /> : null}
      <AreaField
        label={is_new ? VALUES[kind] : `New ${VALUES[kind].toLowerCase()}`}
        hint={`At least 8 characters. Kept encrypted, and never shown again${is_new ? '.' : ': whatever you change takes it anew.'}`}
        look="font-mono text-sm [-webkit-text-security:disc]"
        rows={2}
        required
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        value={form.value}
        onText={text('value')}
      />
      <TextField label="Description" maxLength={4096} value={form.description} onText={text('description')} />
      {kind === 'git' ? <GitFields form={form} is_new={is_new} set={set} /> : null}
      {kind === 'registry' ? (
        <Pair>
          {is_new ? (
            <TextField label="Host" required placeholder="ghcr.io" value={form.host} onText={text('host')} />
          ) : null}
          <TextField label="User name" required value={form.username} onText={text('username')} />
        </Pair>
      ) : null}
    </>
  )
}

const Pair = ({ children }: { children: ReactNode }) => (
  <div className="grid gap-4 sm:grid-cols-2">{children}</div>
)

interface Part {
  form: SecretForm
  set: (change: Partial<SecretForm>) => void
}

function Choices({ form, set }: Part) {
  return (
    <>
      <SelectField
        label="What it is"
        value={form.kind}
        onText={(kind) => set({ kind: kind as SecretKind, host: kind === 'git' ? 'github.com' : '' })}
      >
        {Object.entries(KINDS).map(([kind, label]) => (
          <option key={kind} value={kind}>
            {label}
          </option>
        ))}
      </SelectField>
      <Pair>
        <TextField
          label="Name"
          required
          maxLength={128}
          pattern="[A-Za-z_][A-Za-z0-9_]*"
          title="Letters, digits and _, as of a variable"
          spellCheck={false}
          autoCapitalize="off"
          placeholder={form.kind === 'git' ? 'GITHUB' : form.kind === 'registry' ? 'IMAGES' : 'DEPLOY_TOKEN'}
          value={form.name}
          onText={(name) => set({ name })}
        />
        <SelectField
          label="Who uses it"
          value={form.scope}
          onText={(scope) => set({ scope: scope as SecretScope })}
        >
          <option value="Team">Runs of the team</option>
          <option value="User">Your personal runs alone</option>
        </SelectField>
      </Pair>
    </>
  )
}

function GitFields({ form, is_new, set }: Part & { is_new: boolean }) {
  return (
    <>
      {is_new ? (
        <TextField
          label="Host"
          required
          placeholder="github.com"
          hint="With its port, if it has one of its own. It cannot be changed later."
          value={form.host}
          onText={(host) => set({ host })}
        />
      ) : null}
      <AreaField
        label="Repositories"
        hint="One a line: owner/name, or owner/* for all below. None: every repository of the host."
        look="font-mono text-sm"
        rows={2}
        spellCheck={false}
        value={form.repositories}
        onText={(repositories) => set({ repositories })}
      />
      <CheckField
        label="Read only: it never pushes"
        checked={form.read_only}
        onCheck={(read_only) => set({ read_only })}
      />
      <Fold summary="User name, or GitHub App" is_open={form.app_id !== ''}>
        <div className="grid gap-4 sm:grid-cols-3">
          <TextField
            label="User name"
            placeholder="Most hosts take any"
            value={form.username}
            onText={(username) => set({ username })}
          />
          <TextField
            label="App ID"
            inputMode="numeric"
            hint="Then the value is its private key in PEM."
            value={form.app_id}
            onText={(app_id) => set({ app_id })}
          />
          <TextField
            label="Installation ID"
            inputMode="numeric"
            value={form.installation_id}
            onText={(installation_id) => set({ installation_id })}
          />
        </div>
      </Fold>
    </>
  )
}
