import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { Button } from '../ui/button.tsx'
import { Problem } from '../ui/problem.tsx'
import type { Arrived } from './arrival.ts'
import { changeSession, type Session, signIn } from './session.ts'

/** Asks before a link for somebody else ends the session that is here: anybody may have sent it. */
export function OtherSignIn({
  session,
  other,
  onDone,
}: {
  session: Session
  other: NonNullable<Arrived['other']>
  onDone: () => void
}) {
  const queries = useQueryClient()
  const change = useMutation({
    mutationFn: () => signIn({ token: other.token, replace: true }),
    onSuccess: (changed) => {
      changeSession(queries, changed)
      onDone()
    },
  })
  useEffect(() => {
    document.title = 'Sign in as somebody else? · Runyard'
  }, [])
  const name = session.principal.name ?? session.principal.uid
  return (
    <main className="mx-auto mt-[12vh] w-full max-w-md px-(--edge)">
      <p className="mark mt-0 mb-8">Runyard</p>
      <h1 className="m-0 font-semibold text-xl">Sign in as somebody else?</h1>
      <p className="mt-2 mb-5 text-base text-soft">
        {other.detail} Use it only if you asked for it: what you do afterwards is done as that person.
      </p>
      {change.error ? <Problem error={change.error} /> : null}
      <p className="mt-4 mb-0 flex flex-wrap gap-3">
        <Button kind="primary" onClick={onDone}>
          Stay signed in as {name}
        </Button>
        <Button onClick={() => change.mutate()} disabled={change.isPending}>
          Use the link
        </Button>
      </p>
    </main>
  )
}
