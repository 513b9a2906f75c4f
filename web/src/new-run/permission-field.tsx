import { AreaField } from '../ui/field.tsx'
import { readPermissions } from './permission-lines.ts'

export function PermissionField({ value, onText }: { value: string; onText: (text: string) => void }) {
  const is_wrong = readPermissions(value) === null
  return (
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
      value={value}
      onText={onText}
    />
  )
}
