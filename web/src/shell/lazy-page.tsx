import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Button } from '../ui/button.tsx'
import { Problem } from '../ui/problem.tsx'
import { useIsAway } from './connection.ts'

interface Code {
  name: string
  is_read: boolean
  read: () => Promise<void>
}

const codes: Code[] = []

/**
 * A page, or a part of one, whose code is read when it is first needed. Where that fails it says so and stays: an address that is
 * loaded again while the service is away loses the page and everything typed in it.
 */
export function lazyPage<Name extends string, Props extends object = Record<never, never>>(
  read: () => Promise<Record<Name, (props: NoInfer<Props>) => ReactNode>>,
  name: Name,
  /** A part stands in a page that is shown already. Pages are read while there is nothing else to do, in case somebody comes to them. */
  { is_part = false } = {},
): ((props: Props) => ReactNode) & { preload: () => Promise<void> } {
  let Page: ((props: Props) => ReactNode) | undefined
  const code: Code = {
    name,
    is_read: false,
    read: async () => {
      Page ??= (await read())[name]
      code.is_read = true
    },
  }
  if (!is_part) codes.push(code)
  return Object.assign(
    (props: Props) => (
      <WithCode code={code} is_part={is_part}>
        {() => (Page ? <Page {...props} /> : null)}
      </WithCode>
    ),
    { preload: () => code.read().catch(() => {}) },
  )
}

function WithCode({ code, is_part, children }: { code: Code; is_part: boolean; children: () => ReactNode }) {
  const { error, isFetching, refetch } = useQuery({
    queryKey: ['code', code.name],
    queryFn: () => code.read().then(() => true),
    staleTime: Number.POSITIVE_INFINITY,
    networkMode: 'always',
    enabled: !code.is_read,
  })
  if (code.is_read) return children()
  if (error && !isFetching) return <Unread is_part={is_part} onRetry={() => refetch()} />
  return is_part ? <p className="m-0 text-soft">Loading…</p> : null
}

const Unread = ({ is_part, onRetry }: { is_part: boolean; onRetry: () => void }) => (
  <div className={`grid gap-3 ${is_part ? '' : 'py-6'}`}>
    {is_part ? null : <h1 className="m-0 font-semibold text-xl">This page could not be loaded</h1>}
    <NotArrived what="Its code" onRetry={onRetry} />
  </div>
)

/** Says that something that is built into the page did not arrive, and what helps. */
export function NotArrived({ what, onRetry }: { what: string; onRetry: () => void }) {
  const is_away = useIsAway()
  return (
    <div className="grid justify-items-start gap-3">
      <Problem error={new Error(`${what} did not arrive.`)} onRetry={onRetry} />
      {is_away ? null : (
        <>
          <p className="m-0 text-sm text-soft">
            If trying again does not help, the service was updated since this tab was opened.
          </p>
          <Button onClick={() => location.reload()}>Reload the tab</Button>
        </>
      )}
    </div>
  )
}

/** Reads the code of all pages, one after the other, while there is nothing else to do. */
export function readPagesWhenIdle(): void {
  // Safari has no idle callback.
  const whenIdle = window.requestIdleCallback ?? ((call: () => void) => setTimeout(call, 200))
  const readNext = ([code, ...others]: Code[]): void => {
    if (!code) return
    whenIdle(() =>
      code.read().then(
        () => readNext(others),
        () => {},
      ),
    )
  }
  readNext(codes)
}
