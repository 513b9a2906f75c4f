import { NotFoundError } from '@runyard/client'
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Kind } from './kinds.ts'
import { NotFound } from './not-found.tsx'
import { Problem } from './problem.tsx'

/** What an address names once it is read, or why it cannot be shown. What is shown stays while the service is away. */
export function Found<Item>({
  kind,
  query: { data, error, refetch },
  children,
}: {
  kind: Kind
  query: UseQueryResult<Item>
  children: (item: Item) => ReactNode
}) {
  if (error instanceof NotFoundError) return <NotFound kind={kind} />
  if (data !== undefined) return children(data)
  return error ? <Problem error={error} onRetry={() => refetch()} /> : null
}
