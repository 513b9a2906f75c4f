import { type ReactNode, useState } from 'react'

/** What is seldom needed, behind its name. `is_open`: at first, where there is something in it. */
export function Fold({
  summary,
  is_open = false,
  children,
}: {
  summary: string
  is_open?: boolean
  children: ReactNode
}) {
  // Afterwards it is the reader's: what is typed inside must not close it.
  const [was_open] = useState(is_open)
  return (
    <details open={was_open}>
      <summary className="chevron w-fit text-sm text-soft hover:text-ink">{summary}</summary>
      <div className="mt-3">{children}</div>
    </details>
  )
}
