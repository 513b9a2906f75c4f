import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { sessionQuery } from '../shell/session.ts'
import { plainText } from '../text/plain-text.ts'
import { Button } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { Ago } from '../ui/moment.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { Problem } from '../ui/problem.tsx'
import { answerLogin, type DeviceLogin, readDeviceSearch, readLogin } from './device-login.ts'

/** Logs a program in that has no browser, such as `runyard login` on another machine. */
export function DevicePage() {
  const { code } = useSearch({ from: '/device', select: readDeviceSearch })
  const navigate = useNavigate()
  const show = (typed: string | undefined) =>
    navigate({ to: '/device', search: typed ? { code: typed } : {}, replace: true })
  return (
    <div className="max-w-lg">
      <PageHead title="Log a program in" />
      {code ? <Question key={code} code={code} onOther={() => show(undefined)} /> : <AskCode onCode={show} />}
    </div>
  )
}

function AskCode({ onCode }: { onCode: (code: string) => void }) {
  const [typed, setTyped] = useState('')
  return (
    <form
      className="grid gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        onCode(typed.trim())
      }}
    >
      <p className="m-0 text-soft">
        <code>runyard login</code> shows a code of eight letters. Type it here.
      </p>
      <TextField label="Code" required maxLength={32} value={typed} onText={setTyped} />
      <p className="m-0">
        <Button kind="primary" type="submit">
          Go on
        </Button>
      </p>
    </form>
  )
}

function Question({ code, onOther }: { code: string; onOther: () => void }) {
  const { data: login, error } = useQuery({
    queryKey: ['device-login', code],
    queryFn: ({ signal }) => readLogin(code, signal),
    // It is read once: after the answer it is gone.
    staleTime: Number.POSITIVE_INFINITY,
  })
  const answer = useMutation({ mutationFn: (grant: boolean) => answerLogin(code, grant) })
  if (answer.isSuccess) return <Answered granted={answer.variables} />
  if (error)
    return (
      <>
        <Problem error={error} />
        <p className="mt-4 mb-0">
          <Button onClick={onOther}>Type another code</Button>
        </p>
      </>
    )
  if (!login) return null
  return (
    <>
      <Asked login={login} />
      {answer.error ? <Problem error={answer.error} /> : null}
      <Answers is_sending={answer.isPending} onAnswer={answer.mutate} />
    </>
  )
}

function Asked({ login }: { login: DeviceLogin }) {
  const { data: session } = useQuery(sessionQuery)
  const name = session?.principal.name ?? session?.principal.uid
  return (
    <>
      <p className="m-0 font-mono text-2xl tracking-wide">{login.user_code}</p>
      <p className="mt-3 mb-0">
        A program on <strong>{plainText(login.client_name)}</strong> asked for a key{' '}
        <Ago at={login.created_at} />, from the address {login.address}.
      </p>
      <p className="mt-3 mb-0">
        Allow it only if you started it yourself and it shows this code. It gets a key of its own and may do
        everything that {name} may do here as {session?.role}, until the key is revoked.
      </p>
    </>
  )
}

function Answers({ is_sending, onAnswer }: { is_sending: boolean; onAnswer: (grant: boolean) => void }) {
  const refuse = useRef<HTMLButtonElement>(null)
  // Who presses Enter without reading gives nothing away.
  useEffect(() => refuse.current?.focus(), [])
  return (
    <p className="mt-5 mb-0 flex flex-wrap gap-3">
      <Button kind="primary" onClick={() => onAnswer(true)} disabled={is_sending}>
        Allow
      </Button>
      <Button ref={refuse} onClick={() => onAnswer(false)} disabled={is_sending}>
        Refuse
      </Button>
    </p>
  )
}

const Answered = ({ granted }: { granted: boolean }) => (
  <div role="status">
    <p>
      {granted
        ? 'The program is logged in. You can go back to it and close this page.'
        : 'The program was refused, and has no key.'}
    </p>
    <p className="mt-3 mb-0">
      <Link to="/keys">All keys</Link>, with those that programs got: each can be revoked.
    </p>
  </div>
)
