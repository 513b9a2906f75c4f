import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import { KINDS, type Kind } from './kinds.ts'

const RUNS = { title: 'Runs', to: '/' } as const

/** What is shown at an address where there is nothing, or nothing for this reader. */
export function NotFound({ kind }: { kind: Kind | 'page' | 'run' }) {
  const { title: all, to } = kind === 'page' || kind === 'run' ? RUNS : KINDS[kind]
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
        <Link to={to}>All {all.toLowerCase()}</Link>
      </p>
    </div>
  )
}
