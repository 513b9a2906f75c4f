import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { ArrowLeft } from 'lucide-react'
import { useAccess } from '../client.ts'
import { runQuery } from '../run/run-queries.ts'
import { plainText } from '../text/plain-text.ts'
import { buttonClass } from '../ui/button.tsx'
import { FIELD_CLASS } from '../ui/field.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { Problem } from '../ui/problem.tsx'
import { folderQuery } from './file-queries.ts'
import { FileTree } from './file-tree.tsx'
import { FileView } from './file-view.tsx'

/** The files of a run's workspace, as one of its turns left them. */
export function FilesPage() {
  const { run_id } = useParams({ from: '/sessions/$run_id/files' })
  const { path, turn: asked } = useSearch({ from: '/sessions/$run_id/files' })
  const navigate = useNavigate({ from: '/sessions/$run_id/files' })
  const { client } = useAccess()
  const { data: run } = useQuery(runQuery(client, run_id))
  const { data, error, refetch } = useInfiniteQuery(folderQuery(client, run_id, '', asked))
  const root = data?.pages[0]
  const newest = root?.turns.at(-1)
  return (
    <>
      <PageHead title="Files">
        {root ? (
          <select
            aria-label="Turn"
            className={`${FIELD_CLASS} min-h-9 shrink-0 basis-44 text-sm`}
            value={root.turn}
            onChange={(event) => navigate({ search: { path, turn: Number(event.target.value) } })}
          >
            {root.turns.toReversed().map((turn) => (
              <option key={turn} value={turn}>
                After turn {turn}
                {turn === newest ? ' (newest)' : ''}
              </option>
            ))}
          </select>
        ) : null}
        <Link to="/sessions/$run_id" params={{ run_id }} className={`${buttonClass()} max-w-60`}>
          <ArrowLeft aria-hidden className="size-4 shrink-0" />
          <span className="truncate">{run ? plainText(run.title) : 'Run'}</span>
        </Link>
      </PageHead>
      {error && !root ? <Problem error={error} onRetry={() => refetch()} /> : null}
      {!root && !error ? <p className="m-0 text-soft text-sm">Loading…</p> : null}
      {root ? (
        <div className="grid items-start gap-6 lg:grid-cols-[20rem_minmax(0,1fr)]">
          <div className="max-h-[45vh] overflow-y-auto rounded-[10px] border border-line bg-raised lg:sticky lg:top-4 lg:max-h-[calc(100vh-6rem)]">
            <FileTree
              key={root.turn}
              run_id={run_id}
              turn={root.turn}
              selected={path}
              onSelect={(chosen) => navigate({ search: { path: chosen, turn: asked } })}
            />
          </div>
          <div className="min-w-0">
            {path ? (
              <FileView key={path} run_id={run_id} turn={root.turn} path={path} />
            ) : (
              <p className="m-0 text-soft text-sm">Choose a file to read it here. Links are not followed.</p>
            )}
          </div>
        </div>
      ) : null}
    </>
  )
}
