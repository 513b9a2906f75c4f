import { AreaField } from '../ui/field.tsx'
import { readObject } from './json-object.ts'

/** An object as JSON. `hint` says what it is as long as nothing is wrong with it. */
export function JsonField({
  hint,
  value,
  ...props
}: {
  label: string
  hint: string
  placeholder: string
  value: string
  onText: (text: string) => void
}) {
  const read = readObject(value)
  return (
    <AreaField
      {...props}
      hint={'problem' in read ? read.problem : hint}
      aria-invalid={'problem' in read}
      look="font-mono text-sm"
      rows={2}
      spellCheck={false}
      value={value}
    />
  )
}
