import { AuthenticationError, NotFoundError, PermissionDeniedError } from '@runyard/client'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useMemo } from 'react'
import { type Access, AccessContext, createClient } from '../client.ts'
import { runQuery } from '../run/run-queries.ts'
import { Problem } from '../ui/problem.tsx'

/** Shows one run to whoever was given its link. `refused`: what everybody else sees. */
export function VisitGate({
  run_id,
  refused,
  children,
}: {
  run_id: string
  refused: ReactNode
  children: ReactNode
}) {
  const access = useMemo<Access>(
    () => ({ client: createClient(run_id), may_write: false, may_administer: false, is_visitor: true }),
    [run_id],
  )
  const { data: run, error, refetch } = useQuery(runQuery(access.client, run_id))
  if (run) return <AccessContext value={access}>{children}</AccessContext>
  if (!error) return null
  const is_refused =
    error instanceof AuthenticationError ||
    error instanceof NotFoundError ||
    error instanceof PermissionDeniedError
  if (is_refused) return refused
  return (
    <main className="mx-auto mt-[12vh] max-w-md px-(--edge)">
      <Problem error={error} onRetry={() => refetch()} />
    </main>
  )
}
