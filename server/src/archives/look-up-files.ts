import { pipeline, type Readable } from 'node:stream'
import { decompress } from './compression.ts'
import { beginningOf, type IndexedFile, readLine, splitPath } from './file-index.ts'

export interface FoundFiles {
  /** The file or folder at the path; null: there is none. */
  itself: IndexedFile | null
  /** The files and folders directly in it, by name: the first ones after `after`. */
  inside: IndexedFile[]
  has_more: boolean
}

/** A path, what it leads to and some numbers, most of their bytes escaped. Workers write indexes, and not all are to be trusted. */
const LINE_CHARACTERS = 64 * 1024
const MOST_CHARACTERS = 2 ** 30

/** It is none that a worker of ours wrote. */
export class IndexRefused extends Error {
  override name = 'IndexRefused'
}

const WORKSPACE: IndexedFile = { path: '', name: '', type: 'folder', mode: 0o755, size: 0, offset: 0 }

/**
 * Looks into an index for a path below `/workspace`, '' for itself. Reads it from its beginning to its end, twice where hard links
 * are found; holds no more than a page in memory, however many files there are. Throws `IndexRefused`.
 */
export async function lookUpFiles(
  open: () => Promise<Readable>,
  path: string,
  { after = '', most }: { after?: string | undefined; most: number },
): Promise<FoundFiles> {
  const { folder, name } = splitPath(path)
  const [own, children] = [beginningOf(folder, name), beginningOf(path)]
  let itself = path === '' ? WORKSPACE : null
  let inside: IndexedFile[] = []
  for await (const line of readLines(await open())) {
    if (path !== '' && line.startsWith(own)) itself = readLine(line)
    if (!line.startsWith(children)) continue
    const file = readLine(line)
    if (file.name <= after) continue
    inside.push(file)
    if (inside.length > 4 * most) inside = firstOf(inside, most + 1)
  }
  const page = firstOf(inside, most)
  await resolveHardLinks(open, itself ? [itself, ...page] : page)
  return { itself, inside: page, has_more: inside.length > page.length }
}

const firstOf = (files: readonly IndexedFile[], most: number): IndexedFile[] =>
  files.toSorted((a, b) => (a.name < b.name ? -1 : 1)).slice(0, most)

/** Gives files whose content stands under another path the size and place of that. */
async function resolveHardLinks(open: () => Promise<Readable>, files: readonly IndexedFile[]): Promise<void> {
  const waiting = Map.groupBy(
    files.filter(({ same_as }) => same_as !== undefined),
    ({ same_as }) => same_as,
  )
  if (waiting.size === 0) return
  for await (const line of readLines(await open())) {
    const { path, type, size, offset, target } = readLine(line)
    // A link has other names, too: `cp -al` makes them.
    for (const file of waiting.get(path) ?? [])
      Object.assign(file, { type, size, offset, ...(target === undefined ? {} : { target }) })
  }
}

async function* readLines(index: Readable): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let rest = ''
  let characters = 0
  // The reader is told of a failure; both streams end with the reading.
  for await (const chunk of pipeline(index, decompress(), () => {})) {
    const text = decoder.decode(chunk, { stream: true })
    characters += text.length
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > LINE_CHARACTERS || characters > MOST_CHARACTERS) throw new IndexRefused()
    yield* lines
  }
}
