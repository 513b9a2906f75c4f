import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Button } from '../ui/button.tsx'
import { Problem } from '../ui/problem.tsx'
import { useIsAway } from './connection.ts'

interface Code {
  name: string
  read: () => Promise<() => ReactNode>
  Page?: () => ReactNode
}

const codes: Code[] = []

/**
 * A page whose code is read when it is first gone to. Where that fails, the page says so and stays: an address that is loaded
 * again while the service is away loses the page and everything typed in it.
 */
export function lazyPage<Name extends string>(
  read: () => Promise<Record<Name, () => ReactNode>>,
  name: Name,
): (() => ReactNode) & { preload: () => Promise<void> } {
  const code: Code = { name, read: async () => (await read())[name] }
  codes.push(code)
  const preload = async () => void (await readCode(code).catch(() => {}))
  return Object.assign(() => <CodePage code={code} />, { preload })
}

async function readCode(code: Code): Promise<() => ReactNode> {
  code.Page ??= await code.read()
  return code.Page
}

function CodePage({ code }: { code: Code }) {
  const { error, isFetching, refetch } = useQuery({
    queryKey: ['code', code.name],
    queryFn: () => readCode(code).then(() => true),
    staleTime: Number.POSITIVE_INFINITY,
    networkMode: 'always',
    enabled: code.Page === undefined,
  })
  if (code.Page) return <code.Page />
  return error && !isFetching ? <Unread onRetry={() => refetch()} /> : null
}

function Unread({ onRetry }: { onRetry: () => void }) {
  const is_away = useIsAway()
  return (
    <div className="grid justify-items-start gap-3 py-6">
      <h1 className="m-0 font-semibold text-xl">This page could not be loaded</h1>
      <Problem error={new Error('Its code did not arrive.')} onRetry={onRetry} />
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
      readCode(code).then(
        () => readNext(others),
        () => {},
      ),
    )
  }
  readNext(codes)
}
