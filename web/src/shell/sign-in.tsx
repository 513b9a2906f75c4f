import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { Button } from '../ui/button.tsx'
import { changeSession, signIn } from './session.ts'

/** Asks for an API key. `reason`: why a link did not help. */
export function SignIn({ reason, is_run = false }: { reason?: string | undefined; is_run?: boolean }) {
  const queries = useQueryClient()
  const [key, setKey] = useState('')
  const field = useRef<HTMLInputElement>(null)
  const attempt = useMutation({
    mutationFn: () => signIn({ key: key.trim() }),
    onSuccess: (session) => {
      setKey('')
      changeSession(queries, session)
    },
    onError: () => field.current?.select(),
  })
  useEffect(() => {
    document.title = 'Sign in · Runyard'
    field.current?.focus()
  }, [])
  const complaint = attempt.error?.message ?? reason
  return (
    <main className="mx-auto mt-[12vh] w-full max-w-sm px-(--edge)">
      <p className="mark mt-0 mb-8">Runyard</p>
      <h1 className="m-0 font-semibold text-xl">{is_run ? 'Open this run' : 'Sign in'}</h1>
      <p className="mt-1 mb-5 text-base text-soft">
        {is_run ? 'This link opens the run for people who have a key of this service. ' : ''}The key is
        checked, not kept: this browser then has what the key may do, for 12 hours.
      </p>
      {complaint ? (
        <p role="alert" className="rounded-lg border border-bad/40 bg-bad/5 px-3 py-2 text-sm">
          {complaint}
        </p>
      ) : null}
      <form
        className="grid gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          attempt.mutate()
        }}
      >
        <label className="grid gap-1 text-sm" htmlFor="key">
          API key
          <input
            ref={field}
            id="key"
            type="password"
            autoComplete="off"
            spellCheck={false}
            placeholder="ry_…"
            required
            className="min-h-10 rounded-lg border border-line bg-raised px-3 font-mono text-base"
            value={key}
            onChange={(event) => setKey(event.target.value)}
          />
        </label>
        <Button kind="primary" type="submit" disabled={attempt.isPending} className="min-h-10">
          {attempt.isPending ? 'Signing in…' : 'Sign in'}
        </Button>
      </form>
      <p className="mt-6 text-sm text-soft">
        On the machine of the service, <code>runyard open</code> prints a link that signs you in.
      </p>
    </main>
  )
}
