import type { ComponentProps, MouseEvent } from 'react'

const KINDS = {
  primary: 'border-transparent bg-ink text-paper hover:opacity-85',
  plain: 'border-line bg-raised text-ink hover:border-soft',
  quiet: 'border-transparent text-soft hover:text-ink hover:bg-ink/5',
  danger: 'border-line bg-raised text-bad hover:border-bad',
} as const

export type ButtonKind = keyof typeof KINDS

export const buttonClass = (kind: ButtonKind = 'plain'): string =>
  'inline-flex min-h-9 items-center justify-center gap-1.5 rounded-lg border px-3 text-sm font-medium whitespace-nowrap no-underline transition-colors ' +
  `disabled:cursor-not-allowed disabled:opacity-50 aria-disabled:cursor-not-allowed aria-disabled:opacity-50 ${KINDS[kind]}`

/** One that is disabled keeps the focus of the keyboard, which a moment's work would cost it otherwise; it does nothing. */
export function Button({
  kind,
  className = '',
  disabled = false,
  onClick,
  ...props
}: ComponentProps<'button'> & { kind?: ButtonKind | undefined }) {
  return (
    <button
      type="button"
      className={`${buttonClass(kind)} ${className}`}
      aria-disabled={disabled || undefined}
      onClick={disabled ? refuse : onClick}
      {...props}
    />
  )
}

/** Nor is the form of it sent. */
const refuse = (event: MouseEvent): void => event.preventDefault()
