import type { ReactNode } from 'react'

/** A key that does the same; for the eye only, as `aria-keyshortcuts` says it too. */
export const KeyHint = ({ className = '', children }: { className?: string; children: ReactNode }) => (
  <kbd
    aria-hidden
    className={`pointer-events-none rounded border border-line px-1.5 font-sans text-soft text-xs ${className}`}
  >
    {children}
  </kbd>
)
