import { useQuery } from '@tanstack/react-query'
import { Link, useLocation, useParams } from '@tanstack/react-router'
import { useEffect } from 'react'
import { NotArrived } from '../shell/lazy-page.tsx'
import { buttonClass } from '../ui/button.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { Bar, Skeleton } from '../ui/skeleton.tsx'
import { GuideText } from './guide-text.tsx'
import { GUIDES, readGuide } from './guides.ts'
import { GuidesPage } from './guides-page.tsx'

/** One guide; the list where the address names none, since the rest of an address may be empty. */
export function GuidePage() {
  const { _splat: path = '' } = useParams({ from: '/docs/guides/$' })
  return path === '' ? <GuidesPage /> : <Guide key={path} path={path} />
}

function Guide({ path }: { path: string }) {
  const hash = useLocation({ select: (location) => location.hash })
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ['guides', path],
    queryFn: () => readGuide(path),
    staleTime: Number.POSITIVE_INFINITY,
    networkMode: 'always',
  })
  const is_read = typeof data === 'string'
  useEffect(() => {
    // The text comes after the page, so the browser has not found the heading.
    if (is_read && hash) document.getElementById(hash)?.scrollIntoView()
  }, [is_read, hash])
  const title = GUIDES.find((guide) => guide.path === path)?.title ?? 'Docs'
  return (
    <>
      <PageHead title={title}>
        <Link to="/docs/guides" className={buttonClass()}>
          All docs
        </Link>
      </PageHead>
      {error ? <NotArrived what="This guide" onRetry={() => refetch()} /> : null}
      {isPending ? (
        <Skeleton>
          <div className="grid max-w-3xl gap-4">
            <Bar className="h-4 w-full" />
            <Bar className="h-4 w-4/5" />
            <Bar className="h-40 w-full" />
          </div>
        </Skeleton>
      ) : null}
      {data === null ? <p className="text-soft">There is no such guide in this version.</p> : null}
      {is_read ? (
        <article className="max-w-3xl pb-10">
          <GuideText path={path} text={data} />
        </article>
      ) : null}
    </>
  )
}
