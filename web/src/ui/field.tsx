import type { ComponentProps, ReactNode } from 'react'
import { useId } from 'react'

export const FIELD_CLASS =
  'min-h-10 w-full min-w-0 rounded-lg border border-line bg-raised px-3 text-base aria-invalid:border-bad'

/** A field with its name, and what is to be said of it. */
export function Field({
  label,
  hint,
  children,
}: {
  label: string
  hint?: ReactNode
  children: (props: { id: string; 'aria-describedby': string | undefined; className: string }) => ReactNode
}) {
  const id = useId()
  const hint_id = hint ? `${id}-hint` : undefined
  return (
    <div className="grid content-start gap-1">
      <label htmlFor={id} className="font-medium text-sm">
        {label}
      </label>
      {children({ id, 'aria-describedby': hint_id, className: FIELD_CLASS })}
      {hint ? (
        <p id={hint_id} className="m-0 text-soft text-xs">
          {hint}
        </p>
      ) : null}
    </div>
  )
}

export function TextField({
  label,
  hint,
  onText,
  ...props
}: Omit<ComponentProps<'input'>, 'onChange'> & {
  label: string
  hint?: ReactNode
  onText: (text: string) => void
}) {
  return (
    <Field label={label} hint={hint}>
      {(given) => <input {...given} {...props} onChange={(event) => onText(event.target.value)} />}
    </Field>
  )
}

/** Text of several lines, as tall as it is. `look`: further classes. */
export function AreaField({
  label,
  hint,
  look = '',
  onText,
  ...props
}: Omit<ComponentProps<'textarea'>, 'onChange' | 'className'> & {
  label: string
  hint?: ReactNode
  look?: string
  onText: (text: string) => void
}) {
  return (
    <Field label={label} hint={hint}>
      {(given) => (
        <textarea
          rows={3}
          {...given}
          {...props}
          className={`${given.className} field-sizing-content max-h-[50vh] py-2 ${look}`}
          onChange={(event) => onText(event.target.value)}
        />
      )}
    </Field>
  )
}

/** Yes or no. */
export function CheckField({
  label,
  onCheck,
  ...props
}: Omit<ComponentProps<'input'>, 'onChange' | 'type'> & {
  label: ReactNode
  onCheck: (is_on: boolean) => void
}) {
  return (
    <label className="flex min-h-6 w-fit cursor-pointer items-center gap-2 text-sm">
      <input
        type="checkbox"
        className="m-0 size-4 shrink-0 accent-accent"
        {...props}
        onChange={(event) => onCheck(event.target.checked)}
      />
      {label}
    </label>
  )
}

/** Choices of a fixed list; the first says what counts when none is made. */
export function SelectField({
  label,
  hint,
  onText,
  children,
  ...props
}: Omit<ComponentProps<'select'>, 'onChange'> & {
  label: string
  hint?: ReactNode
  onText: (text: string) => void
}) {
  return (
    <Field label={label} hint={hint}>
      {(given) => (
        <select {...given} {...props} onChange={(event) => onText(event.target.value)}>
          {children}
        </select>
      )}
    </Field>
  )
}
