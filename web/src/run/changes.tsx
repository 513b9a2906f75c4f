import type { ChangedFile, RunDiff } from '@runyard/client'
import { useQuery } from '@tanstack/react-query'
import { Download } from 'lucide-react'
import { useMemo, useState } from 'react'
import { readArtifact } from '../artifact-link.ts'
import { useAccess } from '../client.ts'
import { countOf, formatCount } from '../text/format.ts'
import { plainText } from '../text/plain-text.ts'
import { Button } from '../ui/button.tsx'
import { Problem } from '../ui/problem.tsx'
import { saveFile } from '../ui/save-file.ts'
import { FileDiff } from './file-diff.tsx'
import { parsePatch } from './patch.ts'
import { diffQuery, patchQuery } from './run-queries.ts'

/** Files that are open to begin with, when the whole is small. */
const OPEN_LINES = 120

/** What the run changed in its repositories: the files, each with its diff, and the patch to take away. */
export function Changes({ run_id, turn }: { run_id: string; turn?: number }) {
  const { client } = useAccess()
  const { data: diff, error } = useQuery(diffQuery(client, run_id, turn))
  if (error) return <Problem error={error} />
  if (!diff || (diff.files_changed === 0 && diff.notes.length === 0)) return null
  return <ChangeList diff={diff} />
}

function ChangeList({ diff }: { diff: RunDiff }) {
  const { client } = useAccess()
  const { files, files_changed, additions, deletions, notes, patch } = diff
  const is_small = additions + deletions <= OPEN_LINES
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set())
  const isOpen = (path: string) => (is_small ? !closed.has(path) : open.has(path))
  const is_any_open = files.some((file) => isOpen(file.path))
  const { data: text, error } = useQuery({
    ...patchQuery(client, patch?.artifact_uid ?? ''),
    enabled: patch !== undefined && is_any_open,
  })
  const parts = useMemo(() => (text === undefined ? undefined : parsePatch(text)), [text])
  const toggle = (path: string) => {
    const [now, set] = is_small ? ([closed, setClosed] as const) : ([open, setOpen] as const)
    const next = new Set(now)
    if (!next.delete(path)) next.add(path)
    set(next)
  }
  const save = async () => {
    if (!patch) return
    const answer = await readArtifact(client, patch.artifact_uid)
    saveFile(await answer.blob(), patch.data.filename)
  }
  return (
    <section aria-labelledby="changes" className="grid gap-2">
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h2 id="changes" className="m-0 font-semibold text-base">
          {countOf(files_changed, 'file')} changed
        </h2>
        <Counts additions={additions} deletions={deletions} />
        {patch ? (
          <Button kind="quiet" className="ml-auto" onClick={save}>
            <Download aria-hidden className="size-4" />
            Patch
          </Button>
        ) : null}
      </header>
      {error ? <Problem error={error} /> : null}
      <ul className="m-0 grid list-none gap-2 p-0">
        {files.map((file) => (
          <li key={file.path} className="overflow-clip rounded-[10px] border border-line bg-raised">
            <button
              type="button"
              aria-expanded={isOpen(file.path)}
              className="flex min-h-10 w-full items-center gap-2.5 px-3.5 py-1 text-left text-sm hover:bg-ink/4 focus-visible:-outline-offset-2"
              onClick={() => toggle(file.path)}
            >
              <FileSign status={file.status} />
              <code className="min-w-0 wrap-anywhere">{nameOf(file)}</code>
              <span className="ml-auto shrink-0">
                {file.binary ? <span className="text-soft text-xs">binary</span> : <Counts {...file} />}
              </span>
            </button>
            {isOpen(file.path) ? (
              <FileDiff file={file} part={parts?.get(file.path)} is_read={parts !== undefined} />
            ) : null}
          </li>
        ))}
      </ul>
      {files.length < files_changed ? (
        <p className="m-0 text-soft text-sm">
          {formatCount(files_changed - files.length)} more files are in the patch.
        </p>
      ) : null}
      {notes.map((note) => (
        <p key={note} className="m-0 text-sm text-wait">
          {plainText(note)}
        </p>
      ))}
    </section>
  )
}

const nameOf = ({ path, previous_path }: ChangedFile): string =>
  plainText(previous_path && previous_path !== path ? `${previous_path} → ${path}` : path)

export function Counts({ additions, deletions }: { additions: number; deletions: number }) {
  return (
    <span className="tabular font-mono text-xs">
      <span className="text-good">+{formatCount(additions)}</span>{' '}
      <span className="text-bad">−{formatCount(deletions)}</span>
    </span>
  )
}

const SIGNS = {
  added: { sign: 'A', tone: 'text-good' },
  modified: { sign: 'M', tone: 'text-wait' },
  deleted: { sign: 'D', tone: 'text-bad' },
  renamed: { sign: 'R', tone: 'text-accent' },
} as const

function FileSign({ status }: { status: ChangedFile['status'] }) {
  const { sign, tone } = SIGNS[status]
  return (
    <abbr title={status} className={`w-3 shrink-0 font-mono text-xs no-underline ${tone}`}>
      {sign}
    </abbr>
  )
}
