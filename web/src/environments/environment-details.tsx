import { PermissionField } from '../new-run/permission-field.tsx'
import { AreaField, CheckField, SelectField, TextField } from '../ui/field.tsx'
import { Fold } from '../ui/fold.tsx'
import { type EnvironmentForm, hasDetails, type LimitName, type RetentionName } from './environment-form.ts'

const LIMITS: Record<LimitName, string> = {
  memory_mb: 'Memory, MiB',
  cpus: 'CPUs',
  disk_mb: 'Disk, MiB',
  setup_minutes: 'Setup, minutes',
}

const RETENTION: Record<RetentionName, string> = {
  run_days: 'Keep runs, days',
  workspace_days: 'Keep workspaces, days',
  artifact_days: 'Keep artifacts, days',
}

/** What few environments say: what their runs reach, may do, and may use. */
export const EnvironmentDetails = ({
  form,
  set,
}: {
  form: EnvironmentForm
  set: (change: Partial<EnvironmentForm>) => void
}) => (
  <Fold summary="More: network, permissions, limits, retention" is_open={hasDetails(form)}>
    <div className="grid gap-4">
      <SelectField
        label="Network"
        value={form.egress}
        onText={(egress) => set({ egress: egress as EnvironmentForm['egress'] })}
      >
        <option value="">As the service has it</option>
        <option value="none">None</option>
        <option value="allowlist">Allowed hosts alone</option>
        <option value="open">Everything that the machine reaches</option>
      </SelectField>
      <AreaField
        label="Allowed hosts"
        hint="One a line, such as api.example.com or *.example.com, beside those of the repositories and of package registries."
        look="font-mono text-sm"
        rows={2}
        spellCheck={false}
        value={form.allowed_hosts}
        onText={(allowed_hosts) => set({ allowed_hosts })}
      />
      <PermissionField value={form.permissions} onText={(permissions) => set({ permissions })} />
      <CheckField
        label="Commands may call the models of this installation"
        checked={form.models}
        onCheck={(models) => set({ models })}
      />
      <div className="grid grid-cols-2 gap-4 sm:grid-cols-4">
        {Object.entries(LIMITS).map(([name, label]) => (
          <TextField
            key={name}
            label={label}
            type="number"
            min="0"
            step="any"
            placeholder="Default"
            value={form[name as LimitName]}
            onText={(text) => set({ [name]: text })}
          />
        ))}
      </div>
      <div className="grid grid-cols-2 gap-4 sm:grid-cols-4">
        {Object.entries(RETENTION).map(([name, label]) => (
          <TextField
            key={name}
            label={label}
            type="number"
            min="1"
            step="1"
            placeholder="As the service has it"
            value={form[name as RetentionName]}
            onText={(text) => set({ [name]: text })}
          />
        ))}
      </div>
    </div>
  </Fold>
)
