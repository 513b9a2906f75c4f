import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { Button } from '../ui/button.tsx'
import { Problem } from '../ui/problem.tsx'
import type { Arrived } from './arrival.ts'
import { changeSession, type Session, signIn } from './session.ts'

/** Asks before a link signs this browser in: anybody may have sent it, and what is done afterwards is done as that person. */
export function ConfirmSignIn({
  session,
  link,
  onDone,
}: {
  session: Session | null
  link: NonNullable<Arrived['link']>
  onDone: () => void
}) {
  const queries = useQueryClient()
  const button = useRef<HTMLButtonElement>(null)
  const attempt = useMutation({
    mutationFn: () => signIn({ token: link.token, confirm: true }),
    onSuccess: (changed) => {
      changeSession(queries, changed)
      onDone()
    },
  })
  useEffect(() => {
    document.title = 'Sign in? · Runyard'
    button.current?.focus()
  }, [])
  const name = session?.principal.name ?? session?.principal.uid
  return (
    <main className="mx-auto mt-[12vh] w-full max-w-md px-(--edge)">
      <p className="mark mt-0 mb-8">Runyard</p>
      <h1 className="m-0 font-semibold text-xl">{link.question}</h1>
      <p className="mt-2 mb-5 text-base text-soft">
        {name === undefined ? '' : `This browser is signed in as ${name} now. `}
        Sign in only if you asked for this link: everything you do afterwards is done as that person.
      </p>
      {attempt.error ? <Problem error={attempt.error} /> : null}
      <p className="mt-4 mb-0 flex flex-wrap gap-3">
        <Button ref={button} kind="primary" onClick={() => attempt.mutate()} disabled={attempt.isPending}>
          {attempt.isPending ? 'Signing in…' : 'Sign in'}
        </Button>
        {name === undefined ? null : <Button onClick={onDone}>Stay signed in as {name}</Button>}
      </p>
    </main>
  )
}
