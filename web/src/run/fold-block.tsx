import type { ReactNode } from 'react'
import { StatusDot } from './status-dot.tsx'

/** One frame: a line that says what and how it ended, then what there is to read of it. */
export function FoldBlock({
  status,
  name,
  title,
  figures,
  is_open,
  onFold,
  children,
}: {
  status: Parameters<typeof StatusDot>[0]['status']
  name: string
  title: ReactNode
  figures: ReactNode
  is_open: boolean
  onFold: (is_open: boolean) => void
  children: ReactNode
}) {
  const line = (
    <>
      <StatusDot status={status} />
      {title}
      <span className="tabular ml-auto flex shrink-0 gap-3 font-mono text-soft text-xs">{figures}</span>
    </>
  )
  const frame = 'overflow-clip rounded-[10px] border border-line bg-sunken'
  const row = 'flex min-h-10 items-center gap-2 px-3 py-1 text-sm'
  // Nothing to read yet: a line that could be opened would be empty.
  if (children === null)
    return (
      <div className={`${frame} ${row} pl-7`} data-block={name} data-status={status}>
        {line}
      </div>
    )
  return (
    <details className={frame} data-block={name} data-status={status} open={is_open}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: a summary is a button of its own. */}
      <summary
        className={`chevron ${row} hover:bg-ink/4 focus-visible:-outline-offset-2`}
        onClick={(event) => {
          // React says whether it is open: a block that opens by itself must not count as opened by the reader.
          event.preventDefault()
          onFold(!is_open)
        }}
      >
        {line}
      </summary>
      {is_open ? <div className="border-line border-t px-3.5 py-2.5 text-sm">{children}</div> : null}
    </details>
  )
}
