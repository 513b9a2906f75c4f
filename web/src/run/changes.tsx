import type { ChangedFile, RunDiff } from '@runyard/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Download } from 'lucide-react'
import { useMemo, useState } from 'react'
import { readArtifact } from '../artifact-link.ts'
import { useAccess } from '../client.ts'
import { countOf, formatCount } from '../text/format.ts'
import { plainText } from '../text/plain-text.ts'
import { Button } from '../ui/button.tsx'
import { CopyLine } from '../ui/copy-line.tsx'
import { Problem } from '../ui/problem.tsx'
import { saveFile } from '../ui/save-file.ts'
import { FileDiff } from './file-diff.tsx'
import { type FileGroup, groupByFolder } from './file-groups.ts'
import type { Commenting } from './line-comments.ts'
import { diffQuery, patchQuery } from './run-queries.ts'

/** Lines of changes whose files are open to begin with, when they are few as well. */
const OPEN_LINES = 120
const OPEN_FILES = 10
/** Files that need no folders to be found in. */
const FEW_FILES = 8
/** Files of a folder that is open to begin with. */
const MOST_SHOWN = 20

/** What the run changed in its repositories: the files, each with its diff, and the patch to take away. */
export function Changes({ run_id, commenting }: { run_id: string; commenting: Commenting | undefined }) {
  const { client } = useAccess()
  const { data: diff, error } = useQuery(diffQuery(client, run_id))
  // What has been read stays in sight, and with it what somebody writes there.
  if (error && !diff) return <Problem error={error} />
  if (!diff || (diff.files_changed === 0 && diff.notes.length === 0)) return null
  return <ChangeList diff={diff} commenting={commenting} />
}

function ChangeList({ diff: newest, commenting }: { diff: RunDiff; commenting: Commenting | undefined }) {
  const { client } = useAccess()
  const is_small = newest.additions + newest.deletions <= OPEN_LINES && newest.files.length <= OPEN_FILES
  const commented = new Set(commenting ? [...commenting.comments.values()].map(({ path }) => path) : [])
  /** What somebody has opened or closed, by paths and folders. */
  const [choices, setChoices] = useState<ReadonlyMap<string, boolean>>(new Map())
  const choose = (name: string, is_open: boolean) => setChoices(new Map(choices).set(name, is_open))
  const isOpen = (path: string) => choices.get(path) ?? (is_small || commented.has(path))
  const is_patch_needed = newest.patch !== undefined && newest.files.some(({ path }) => isOpen(path))
  const { data: parts, error } = useQuery({
    ...patchQuery(client, newest.patch?.artifact_uid ?? ''),
    enabled: is_patch_needed,
  })
  // Both of one turn: what is being read or written there stays until the newer patch has arrived.
  const [last, setLast] = useState({ diff: newest, parts })
  const shown = is_patch_needed && !parts && last.parts ? last : { diff: newest, parts }
  if (shown.diff !== last.diff || shown.parts !== last.parts) setLast(shown)
  const { run_id, files, files_changed, additions, deletions, notes, patch } = shown.diff
  const groups = useMemo(() => groupByFolder(files), [files])
  const has_folders = files.length > FEW_FILES && groups.length > 1
  // A folder with many files is closed until somebody opens it.
  const isShown = ({ folder, files }: FileGroup) =>
    !has_folders ||
    (choices.get(folder) ?? (files.length <= MOST_SHOWN || files.some(({ path }) => commented.has(path))))
  const save = useMutation({
    mutationFn: async ({ artifact_uid, data }: NonNullable<typeof patch>) =>
      saveFile(await (await readArtifact(client, artifact_uid)).blob(), data.filename),
  })
  return (
    <section aria-labelledby="changes" className="grid gap-2">
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h2 id="changes" className="m-0 font-semibold text-base">
          {countOf(files_changed, 'file')} changed
        </h2>
        <Counts additions={additions} deletions={deletions} />
        {patch ? (
          <Button kind="quiet" className="ml-auto" onClick={() => save.mutate(patch)}>
            <Download aria-hidden className="size-4" />
            Patch
          </Button>
        ) : null}
      </header>
      {patch ? (
        <CopyLine
          text={`runyard apply ${run_id.slice(-8)}`}
          label="Copy the command that applies the changes"
        />
      ) : null}
      {(error ?? save.error) ? <Problem error={error ?? save.error} /> : null}
      <ul className="m-0 list-none overflow-clip rounded-[10px] border border-line bg-raised p-0">
        {groups.map((group) => (
          <li key={group.folder}>
            {has_folders ? (
              <FolderRow
                group={group}
                is_open={isShown(group)}
                onToggle={() => choose(group.folder, !isShown(group))}
              />
            ) : null}
            {isShown(group) ? (
              <ul className="m-0 list-none p-0">
                {group.files.map((file) => (
                  <li key={file.path} className="border-line not-first:border-t">
                    <FileRow
                      file={file}
                      folder={has_folders ? group.folder : ''}
                      mode={shown.parts?.get(file.path)?.mode}
                      is_open={isOpen(file.path)}
                      onToggle={() => choose(file.path, !isOpen(file.path))}
                    />
                    {isOpen(file.path) ? (
                      <FileDiff
                        file={file}
                        part={shown.parts?.get(file.path)}
                        is_read={shown.parts !== undefined}
                        commenting={commenting}
                      />
                    ) : null}
                  </li>
                ))}
              </ul>
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

const ROW =
  'flex min-h-9 w-full items-center gap-2.5 px-3.5 py-1 text-left text-sm hover:bg-ink/4 focus-visible:-outline-offset-2'

const FolderRow = ({
  group: { folder, files, additions, deletions },
  is_open,
  onToggle,
}: {
  group: FileGroup
  is_open: boolean
  onToggle: () => void
}) => (
  <button
    type="button"
    aria-expanded={is_open}
    className={`${ROW} border-line border-y bg-sunken`}
    onClick={onToggle}
  >
    <span aria-hidden className="w-3 shrink-0 text-soft">
      {is_open ? '▾' : '▸'}
    </span>
    <code className="min-w-0 wrap-anywhere">{plainText(folder) || 'Top folder'}</code>
    <span className="shrink-0 text-soft text-xs">{countOf(files.length, 'file')}</span>
    <span className="ml-auto shrink-0">
      <Counts additions={additions} deletions={deletions} />
    </span>
  </button>
)

function FileRow({
  file,
  folder,
  mode,
  is_open,
  onToggle,
}: {
  file: ChangedFile
  /** Is named above. */
  folder: string
  mode: string | undefined
  is_open: boolean
  onToggle: () => void
}) {
  const { path, previous_path } = file
  const words = [previous_path && previous_path !== path ? `renamed from ${previous_path}` : '', mode ?? '']
  const more = plainText(words.filter(Boolean).join(', '))
  return (
    <button type="button" aria-expanded={is_open} className={ROW} onClick={onToggle}>
      <FileSign status={file.status} />
      <span className="min-w-0 wrap-anywhere">
        <code>{plainText(path.slice(folder.length))}</code>
        {more ? <span className="ml-2 text-soft text-xs">{more}</span> : null}
      </span>
      <span className="ml-auto shrink-0">
        {file.binary ? <span className="text-soft text-xs">binary</span> : <Counts {...file} />}
      </span>
    </button>
  )
}

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
