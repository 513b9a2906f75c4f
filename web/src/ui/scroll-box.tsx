import { Children, type ComponentProps } from 'react'
import { BreakableText } from '../text/breakable-text.tsx'

/** Text as it is, which scrolls when it is long, and is reached by keyboard for that. */
export function ScrollText({ className = '', children, ...props }: ComponentProps<'pre'>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard (WCAG 2.1.1).
    <pre tabIndex={0} className={`overflow-y-auto ${className}`} {...props}>
      {Children.map(children, (child) =>
        typeof child === 'string' ? <BreakableText text={child} /> : child,
      )}
    </pre>
  )
}

/** The same for anything else; `label` says what it is. A group: a page may have many that are called alike. */
export function ScrollBox({ label, ...props }: ComponentProps<'section'> & { label: string }) {
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard (WCAG 2.1.1).
  // biome-ignore lint/a11y/useSemanticElements: a fieldset is of a form.
  return <section role="group" tabIndex={0} aria-label={label} {...props} />
}
