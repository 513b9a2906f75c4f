/**
 * The index of an archive: a line for each file of the workspace, so that a folder is listed without the archive, and a file is
 * found in it. Only `/workspace` is in it: the home directory holds caches and what programs keep for themselves.
 */
import type { ArchiveEntry } from './archive-check.ts'

const ROOT = 'workspace/'

/** A file, folder or link of a workspace. */
export interface IndexedFile {
  /** Below `/workspace`, without a slash at its ends; see `showPath`. */
  path: string
  name: string
  type: 'file' | 'folder' | 'link' | 'other'
  /** Permission bits. */
  mode: number
  size: number
  /** Where its content begins in the archive, unpacked. */
  offset: number
  /** A link's target, as the link says it. */
  target?: string
  /** The path that has a hard link's content. The link's own size and offset say nothing. */
  same_as?: string
}

const TYPES: Record<string, IndexedFile['type']> = { 0: 'file', 1: 'file', 2: 'link', 5: 'folder' }

/** Text in UTF-8 (RFC 3629, 4), or a byte that is none. */
const TEXT_OR_BYTE =
  /((?:[\0-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2})+)|[\x80-\xff]/g

/**
 * A path of the archive as people can read and send it. A byte that is not UTF-8 is written `\xE9`, and a backslash that would read
 * like that `\x5C`, so no two paths become one.
 */
export const showPath = (bytes: string): string =>
  Buffer.from(
    bytes
      .replace(/\\(?=x[0-9A-F]{2})/g, '\\x5C')
      .replace(TEXT_OR_BYTE, (byte, text?: string) => text ?? escapeByte(byte)),
    'latin1',
  ).toString()

const escapeByte = (byte: string): string => `\\x${byte.charCodeAt(0).toString(16).toUpperCase()}`

/** The line of an entry, with its end; empty for what is not in the index. */
export function lineOf({ path, type, mode, size, offset, target }: ArchiveEntry): string {
  const is_hard_link = type === '1'
  if (!path.startsWith(ROOT) || (is_hard_link && !target.startsWith(ROOT))) return ''
  const shown = showPath(path.slice(ROOT.length).replace(/\/+$/, ''))
  if (shown === '') return ''
  const said = is_hard_link ? showPath(target.slice(ROOT.length)) : type === '2' ? showPath(target) : ''
  const { folder, name } = splitPath(shown)
  return `${JSON.stringify([folder, name, type, mode, size, offset, said])}\n`
}

type Line = [
  folder: string,
  name: string,
  type: string,
  mode: number,
  size: number,
  offset: number,
  said: string,
]

export function readLine(line: string): IndexedFile {
  const [folder, name, letter, mode, size, offset, said] = JSON.parse(line) as Line
  const type = TYPES[letter] ?? 'other'
  return {
    ...{ path: folder === '' ? name : `${folder}/${name}`, name, type, mode, size, offset },
    ...(letter === '1' ? { same_as: said } : {}),
    ...(type === 'link' ? { target: said } : {}),
  }
}

/** How the lines of all that lies directly in a folder begin, and no others. */
export const beginningOf = (folder: string, name?: string): string =>
  `[${JSON.stringify(folder)},${name === undefined ? '' : `${JSON.stringify(name)},`}`

export function splitPath(path: string): { folder: string; name: string } {
  const slash = path.lastIndexOf('/')
  return { folder: path.slice(0, Math.max(0, slash)), name: path.slice(slash + 1) }
}
