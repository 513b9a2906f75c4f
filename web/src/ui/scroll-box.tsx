import type { ComponentProps } from 'react'

/** Text as it is, which scrolls when it is long, and is reached by keyboard for that. */
export function ScrollText({ className = '', ...props }: ComponentProps<'pre'>) {
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard (WCAG 2.1.1).
  return <pre tabIndex={0} className={`overflow-y-auto ${className}`} {...props} />
}

/** The same for anything else; `label` says what it is. */
export function ScrollBox({ label, ...props }: ComponentProps<'section'> & { label: string }) {
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard (WCAG 2.1.1).
  return <section tabIndex={0} aria-label={label} {...props} />
}
