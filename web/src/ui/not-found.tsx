import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'

const KINDS = {
  page: { to: '/', all: 'All runs' },
  run: { to: '/', all: 'All runs' },
  environment: { to: '/environments', all: 'All environments' },
  schedule: { to: '/schedules', all: 'All schedules' },
  trigger: { to: '/triggers', all: 'All triggers' },
  webhook: { to: '/webhooks', all: 'All webhooks' },
  secret: { to: '/secrets', all: 'All secrets' },
  identity: { to: '/keys', all: 'All identities' },
} as const

/** What is shown at an address where there is nothing, or nothing for this reader. */
export function NotFound({ kind }: { kind: keyof typeof KINDS }) {
  const { to, all } = KINDS[kind]
  const title = `There is no such ${kind}`
  useEffect(() => {
    document.title = `${title} · Runyard`
  }, [title])
  return (
    <div className="py-12">
      <h1 className="m-0 font-semibold text-xl">{title}</h1>
      <p className="mt-2 mb-4 text-soft">
        {kind === 'page'
          ? 'The address may be mistyped, or from another version of the service.'
          : 'It may have been deleted, belong to somebody else, or its address may be mistyped.'}
      </p>
      <p className="m-0">
        <Link to={to}>{all}</Link>
      </p>
    </div>
  )
}
