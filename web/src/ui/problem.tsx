import { APIConnectionError, APIError } from '@runyard/client'
import type { ReactNode } from 'react'
import { BASE_PATH } from '../client.ts'
import { Button } from './button.tsx'

/** An error in words, with what it means and what helps. */
export function Problem({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  return (
    <div role="alert" className="rounded-xl border border-bad/40 bg-bad/5 px-4 py-3 text-sm">
      <p className="m-0">{sayWhy(error)}</p>
      <div className="mt-2 flex flex-wrap items-center gap-3 empty:hidden">
        {onRetry ? <Button onClick={onRetry}>Try again</Button> : null}
        {error instanceof APIError && error.code ? (
          <a href={`${BASE_PATH}docs/errors/${encodeURIComponent(error.code)}`}>Help</a>
        ) : null}
        {error instanceof APIError && error.trace_id ? (
          <span className="text-soft text-xs">trace {error.trace_id}</span>
        ) : null}
      </div>
    </div>
  )
}

export function sayWhy(error: unknown): ReactNode {
  if (error instanceof APIConnectionError)
    return 'The service cannot be reached. It may be restarting; this page tries again by itself.'
  if (error instanceof APIError) return error.detail ?? error.message
  return error instanceof Error ? error.message : String(error)
}
