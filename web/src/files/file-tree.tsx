import type { WorkspaceFileItem } from '@runyard/client'
import { useInfiniteQuery } from '@tanstack/react-query'
import { CornerDownRight, File, Folder, FolderOpen } from 'lucide-react'
import { createContext, type KeyboardEvent, type ReactNode, useContext, useState } from 'react'
import { useAccess } from '../client.ts'
import { formatBytes } from '../text/format.ts'
import { plainText } from '../text/plain-text.ts'
import { Problem } from '../ui/problem.tsx'
import { folderQuery } from './file-queries.ts'

/** Deeper folders are not moved in further: a narrow screen has no room. */
const MOST_INDENTED = 12

interface Tree {
  run_id: string
  turn: number
  selected: string | undefined
  open: ReadonlySet<string>
  /** The row that the Tab key leads to; undefined: the first one. */
  current: string | undefined
  onSelect: (path: string) => void
  onToggle: (path: string) => void
  onFocus: (path: string) => void
}

const TreeContext = createContext<Tree | null>(null)

/** The folders and files of a workspace. By keyboard as https://www.w3.org/WAI/ARIA/apg/patterns/treeview/ says. */
export function FileTree({ selected, ...tree }: Pick<Tree, 'run_id' | 'turn' | 'selected' | 'onSelect'>) {
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set(foldersAbove(selected ?? '')))
  const [current, setCurrent] = useState<string>()
  const onToggle = (path: string): void => {
    const next = new Set(open)
    if (!next.delete(path)) next.add(path)
    setOpen(next)
  }
  return (
    <TreeContext value={{ ...tree, selected, open, current, onToggle, onFocus: setCurrent }}>
      <div role="tree" aria-label="Files" className="p-1 text-sm" onKeyDown={moveByKey}>
        <FolderRows path="" level={1} />
      </div>
    </TreeContext>
  )
}

function useTree(): Tree {
  const tree = useContext(TreeContext)
  if (!tree) throw new Error('A row stands outside of its tree.')
  return tree
}

/** `a`, `a/b` of `a/b/c`. */
const foldersAbove = (path: string): string[] =>
  path
    .split('/')
    .slice(0, -1)
    .map((_, at, parts) => parts.slice(0, at + 1).join('/'))

function FolderRows({ path, level }: { path: string; level: number }) {
  const { client } = useAccess()
  const { run_id, turn, current } = useTree()
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(
    folderQuery(client, run_id, path, turn),
  )
  const files = data?.pages
    .flatMap((page) => page.files)
    .toSorted((a, b) => Number(b.type === 'folder') - Number(a.type === 'folder'))
  return (
    <>
      {files?.map((file, at) => (
        <FileRow
          key={file.name}
          file={file}
          level={level}
          is_reached={current === file.path || (current === undefined && level === 1 && at === 0)}
        />
      ))}
      {files?.length === 0 ? (
        <Remark level={level}>{level === 1 ? 'The workspace is empty.' : 'Empty'}</Remark>
      ) : null}
      {!files && !error ? <Remark level={level}>Loading…</Remark> : null}
      {error ? (
        <div className="py-1">
          <Problem error={error} onRetry={() => refetch()} />
        </div>
      ) : null}
      {hasNextPage ? (
        <Row
          path={`${path}/`}
          level={level}
          is_reached={current === `${path}/`}
          onClick={() => fetchNextPage()}
        >
          <span className="text-accent">{isFetchingNextPage ? 'Loading…' : 'Show more'}</span>
        </Row>
      ) : null}
    </>
  )
}

const Remark = ({ level, children }: { level: number; children: ReactNode }) => (
  <p className="m-0 min-h-8 py-1 text-soft" style={{ paddingLeft: indentOf(level) }}>
    {children}
  </p>
)

const indentOf = (level: number): string => `${Math.min(level, MOST_INDENTED) * 0.9}rem`

function FileRow({
  file,
  level,
  is_reached,
}: {
  file: WorkspaceFileItem
  level: number
  is_reached: boolean
}) {
  const { path, type, size_bytes, target } = file
  const { open, selected, onSelect, onToggle } = useTree()
  const is_folder = type === 'folder'
  const is_open = is_folder && open.has(path)
  const name = plainText(file.name)
  const more = type === 'link' ? `link to ${plainText(target ?? '')}` : type === 'other' ? 'pipe' : ''
  const Icon = is_folder ? (is_open ? FolderOpen : Folder) : type === 'link' ? CornerDownRight : File
  return (
    <>
      <Row
        {...{ path, level, is_reached }}
        is_selected={selected === path}
        {...(is_folder ? { is_open } : {})}
        onClick={() => (is_folder ? onToggle(path) : onSelect(path))}
      >
        <Icon aria-hidden className={`size-4 shrink-0 ${is_folder ? 'text-accent' : 'text-soft'}`} />
        <span className="min-w-0 truncate" title={name}>
          {name}
          {more ? <span className="text-soft"> ({more})</span> : null}
        </span>
        {size_bytes === undefined ? null : (
          <span className="tabular ml-auto shrink-0 text-soft text-xs">{formatBytes(size_bytes)}</span>
        )}
      </Row>
      {is_open ? <FolderRows path={path} level={level + 1} /> : null}
    </>
  )
}

function Row({
  path,
  level,
  is_reached,
  is_selected = false,
  is_open,
  onClick,
  children,
}: {
  path: string
  level: number
  is_reached: boolean
  is_selected?: boolean
  /** For a folder. */
  is_open?: boolean
  onClick: () => void
  children: ReactNode
}) {
  const { onFocus } = useTree()
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree hears the keys of all its rows.
    <div
      role="treeitem"
      tabIndex={is_reached ? 0 : -1}
      aria-level={level}
      aria-selected={is_selected}
      aria-expanded={is_open}
      className={`flex min-h-8 cursor-pointer items-center gap-1.5 rounded-md pr-2 hover:bg-ink/4 focus-visible:-outline-offset-2 ${is_selected ? 'bg-accent/12 font-medium' : ''}`}
      style={{ paddingLeft: indentOf(level) }}
      onFocus={() => onFocus(path)}
      onClick={onClick}
    >
      {children}
    </div>
  )
}

function moveByKey(event: KeyboardEvent<HTMLDivElement>): void {
  const rows = [...event.currentTarget.querySelectorAll<HTMLElement>('[role=treeitem]')]
  const row = rows.find((one) => one === document.activeElement)
  if (!row || event.altKey || event.ctrlKey || event.metaKey) return
  const next = whereTo(event.key, row, rows)
  if (next === null) return
  event.preventDefault()
  if (next === row) row.click()
  else next?.focus()
}

/** The row that a key leads to; the same one: it is opened or closed. Undefined: nowhere. Null: the key means something else. */
function whereTo(
  key: string,
  row: HTMLElement,
  rows: readonly HTMLElement[],
): HTMLElement | undefined | null {
  const at = rows.indexOf(row)
  const is_open = row.ariaExpanded
  switch (key) {
    case 'ArrowDown':
      return rows[at + 1]
    case 'ArrowUp':
      return rows[at - 1]
    case 'Home':
      return rows[0]
    case 'End':
      return rows.at(-1)
    case 'ArrowRight':
      return is_open === 'false' ? row : is_open === 'true' ? rows[at + 1] : undefined
    case 'ArrowLeft':
      return is_open === 'true'
        ? row
        : rows.slice(0, at).findLast((one) => Number(one.ariaLevel) < Number(row.ariaLevel))
    case 'Enter':
    case ' ':
      return row
    default:
      return null
  }
}
