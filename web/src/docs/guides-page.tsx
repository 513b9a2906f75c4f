import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useDeferredValue, useState } from 'react'
import { BASE_PATH } from '../client.ts'
import { NotArrived } from '../shell/lazy-page.tsx'
import { countOf } from '../text/format.ts'
import { TextField } from '../ui/field.tsx'
import { PageHead, Rows } from '../ui/page-head.tsx'
import { GUIDES, readAllGuides } from './guides.ts'
import { searchGuides } from './search-guides.ts'

/** The guides by title, tasks first, and a search in all of them. */
export function GuidesPage() {
  const [text, setText] = useState('')
  const query = useDeferredValue(text.trim())
  return (
    <>
      <PageHead title="Docs">
        <a href={`${BASE_PATH}docs/api`}>API reference</a>
        <a href={`${BASE_PATH}docs/errors`}>Errors</a>
      </PageHead>
      <div className="mb-6 max-w-md">
        <TextField label="Search" type="search" value={text} onText={setText} />
      </div>
      {query ? <Results query={query} /> : <All />}
    </>
  )
}

const is_task = ({ path }: { path: string }) => path.startsWith('tasks/') && !path.endsWith('README')

const All = () => (
  <div className="grid gap-8">
    {[
      { label: 'Tasks', guides: GUIDES.filter(is_task) },
      { label: 'Guides', guides: GUIDES.filter((guide) => !is_task(guide)) },
    ].map(({ label, guides }) => (
      <section key={label}>
        <h2 className="m-0 mb-2 font-semibold text-base">{label}</h2>
        <ul className="m-0 grid list-none gap-x-6 gap-y-2 p-0 sm:grid-cols-2 lg:grid-cols-3">
          {guides.map(({ path, title }) => (
            <li key={path}>
              <Link to="/docs/guides/$" params={{ _splat: path }}>
                {title}
              </Link>
            </li>
          ))}
        </ul>
      </section>
    ))}
  </div>
)

function Results({ query }: { query: string }) {
  const { data, refetch } = useQuery({
    queryKey: ['guides', 'all'],
    queryFn: readAllGuides,
    staleTime: Number.POSITIVE_INFINITY,
    networkMode: 'always',
  })
  const found = data ? searchGuides(data.guides, query) : []
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
      {data?.is_whole === false ? <NotArrived what="Part of the docs" onRetry={() => refetch()} /> : null}
      <p role="status" className="m-0 text-sm text-soft">
        {!data
          ? 'Loading…'
          : found.length === 0
            ? 'Nothing found. Try fewer or other words.'
            : `Showing ${countOf(found.length, 'place')}`}
      </p>
      {found.length > 0 ? (
        <Rows label="Found in the docs">
          {found.map(({ path, title, heading, hash, excerpt }) => (
            <li key={`${path}#${hash} ${excerpt}`} className="grid grid-cols-[minmax(0,1fr)] gap-1 py-3">
              <Link to="/docs/guides/$" params={{ _splat: path }} {...(hash ? { hash } : {})}>
                {title}
                {heading ? ` › ${heading}` : ''}
              </Link>
              <span className="text-sm text-soft wrap-anywhere">{excerpt}</span>
            </li>
          ))}
        </Rows>
      ) : null}
    </div>
  )
}
