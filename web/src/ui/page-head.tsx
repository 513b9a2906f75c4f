import { type ReactNode, useEffect } from 'react'

/** What a page is called, with what can be done on it. */
export function PageHead({ title, children }: { title: string; children?: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Runyard`
  }, [title])
  return (
    <div className="flex flex-wrap items-center gap-3 pt-6 pb-4">
      <h1 className="m-0 font-semibold text-xl wrap-anywhere">{title}</h1>
      {children ? <div className="ml-auto flex flex-wrap gap-2">{children}</div> : null}
    </div>
  )
}

/** Rows of things, each with a line between. */
export const Rows = ({ label, children }: { label: string; children: ReactNode }) => (
  <ul
    aria-label={label}
    className="m-0 list-none border-line border-t p-0 [&>li]:border-line [&>li]:border-b"
  >
    {children}
  </ul>
)
