import { collectExec, type ExecHandle, quote, type Sandbox, SandboxFault } from '../sandbox/sandbox.ts'
import { ReadingTime } from './reading-time.ts'
import { parseSkill } from './skill-file.ts'
import { type FoundSkill, SKILL_FILE, type SkillRepository } from './skill-spec.ts'

/** Where skills are looked for, the first first. */
export const FOLDERS = [
  ...['.agents', '.warp', '.claude', '.codex', '.cursor', '.gemini', '.copilot', '.factory', '.github'],
  ...['.opencode', '.kiro'],
].map((folder) => `${folder}/skills`)
/** What a repository says to agents; the second is read where there is no first. */
const GUIDES = ['AGENTS.md', 'CLAUDE.md']

const MAX_LISTING_BYTES = 4 * 1024 ** 2
const MAX_SKILLS = 500
const MAX_SKILL_BYTES = 128 * 1024
const MAX_GUIDE_BYTES = 64 * 1024
/** Of all that is read of one repository. */
const MAX_BYTES = 8 * 1024 ** 2
const MAX_FILES = 200
/** Folders that a file of a skill may lie in. */
const MAX_LEVELS = 16
const TIMEOUT_MS = 20_000
const TOO_SLOW = 'The skills of this repository take too long to read, and this one was not read any more.'

export interface Checkout extends SkillRepository {
  /** Folder below `/workspace`. */
  directory: string
  commit: string
}

export interface RepositorySkill extends FoundSkill {
  description: string
  text: string
  checkout: Checkout
  /** Paths of its other files, below its folder. */
  files: string[]
}

export interface MalformedSkill extends FoundSkill {
  error: string
}

export interface RepositoryContent {
  skills: RepositorySkill[]
  malformed: MalformedSkill[]
  /** What the repository says to every agent. */
  guide: { path: string; text: string } | null
}

/**
 * Reads what a repository says to agents as its commit has it, whatever is checked out: a symbolic link leads nowhere, and
 * nothing that was changed since is read. All git work is done inside the sandbox. `paths`: of skills elsewhere.
 */
export async function readRepository(
  sandbox: Pick<Sandbox, 'exec'>,
  checkout: Checkout,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<RepositoryContent> {
  const content: RepositoryContent = { skills: [], malformed: [], guide: null }
  const entries = await listFiles(sandbox, checkout, [...GUIDES, ...FOLDERS, ...paths.map(folderOf)], signal)
  const places = findPlaces(entries, paths)
  const guide = GUIDES.flatMap(
    (path) => entries.find((entry) => entry.path === path && isFile(entry)) ?? [],
  )[0]
  let left = MAX_BYTES
  const take = (entry: Entry, max: number): boolean => {
    if (entry.size > max || entry.size > left) return false
    left -= entry.size
    return true
  }
  const guide_read = guide && take(guide, MAX_GUIDE_BYTES) ? guide : null
  const judged = places.map((place, at) => ({
    place,
    refusal: !isFile(place.entry)
      ? 'It is a symbolic link.'
      : at >= MAX_SKILLS
        ? `A repository has at most ${MAX_SKILLS} skills.`
        : take(place.entry, MAX_SKILL_BYTES)
          ? null
          : 'It is too large.',
  }))
  const wanted = [
    ...(guide_read ? [guide_read] : []),
    ...judged.flatMap(({ place, refusal }) => (refusal === null ? [place.entry] : [])),
  ]
  const texts = await readBlobs(sandbox, checkout, wanted, signal)
  const files = groupFiles(places, entries)
  if (guide) {
    const text = guide_read ? (texts.get(guide.id) ?? '') : leftToRead(guide)
    content.guide = { path: guide.path, text }
  }
  const time = new ReadingTime()
  await time.forEach(judged, ({ place, refusal: unfit }) => {
    const found = describe(checkout, place)
    const refusal = unfit ?? (time.is_over ? TOO_SLOW : null)
    const parsed =
      refusal === null ? parseSkill(texts.get(place.entry.id) ?? '', found.name) : { error: refusal }
    if ('error' in parsed) {
      // Of a repository with thousands of them nobody reads each.
      if (content.malformed.length < MAX_SKILLS) content.malformed.push({ ...found, error: parsed.error })
      return
    }
    const { description, text } = parsed
    content.skills.push({
      ...found,
      description,
      text,
      checkout,
      files: files.get(folderOf(place.entry.path)) ?? [],
    })
  })
  return content
}

/** One file of a skill, as the commit has it; `null`: there is none, or it is no text that could be told. */
export async function readSkillFile(
  sandbox: Pick<Sandbox, 'exec'>,
  { checkout, path }: Pick<RepositorySkill, 'checkout' | 'path'>,
  file: string,
  signal: AbortSignal,
): Promise<string | null> {
  const wanted = `${folderOf(path)}/${file}`
  if (file.split('/').includes('..')) return null
  const entry = (await listFiles(sandbox, checkout, [wanted], signal)).find((each) => each.path === wanted)
  if (!entry || !isFile(entry) || entry.size > MAX_SKILL_BYTES) return null
  const text = (await readBlobs(sandbox, checkout, [entry], signal)).get(entry.id)
  return text === undefined || text.includes('\0') ? null : text
}

const leftToRead = ({ size }: Entry): string =>
  `It has ${size} bytes, too many to be shown here: read it before you begin.`

export const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')))

interface Entry {
  mode: string
  id: string
  size: number
  path: string
}

interface Place {
  entry: Entry
  /** Of its folder. */
  name: string
}

const isFile = ({ mode }: Entry): boolean => mode === '100644' || mode === '100755'

function findPlaces(entries: readonly Entry[], paths: readonly string[]): Place[] {
  const ranked = entries.flatMap((entry) => {
    const parts = entry.path.split('/')
    const name = parts.at(-2) ?? ''
    const rank = FOLDERS.indexOf(parts.slice(0, -2).join('/'))
    const named = paths.includes(entry.path)
    if (parts.at(-1) !== SKILL_FILE || (rank === -1 && !named)) return []
    return [{ entry, name, rank: rank === -1 ? FOLDERS.length : rank }]
  })
  return ranked.sort((a, b) => a.rank - b.rank || (a.name < b.name ? -1 : 1))
}

function describe({ owner, repo, host = null }: Checkout, { entry, name }: Place): FoundSkill {
  const path = visible(entry.path)
  return { owner, repo, host, id: `${owner}/${repo}:${path}`, name: visible(name), path }
}

/** What lies below the folder of each skill, by that folder. */
function groupFiles(places: readonly Place[], entries: readonly Entry[]): Map<string, string[]> {
  const files = new Map<string, string[]>(places.map(({ entry }) => [folderOf(entry.path), []]))
  for (const entry of entries) {
    if (!isFile(entry)) continue
    let folder = folderOf(entry.path)
    for (let level = 0; folder !== '' && level < MAX_LEVELS; level += 1, folder = folderOf(folder)) {
      const path = entry.path.slice(folder.length + 1)
      const list = path === SKILL_FILE ? undefined : files.get(folder)
      if (list && list.length < MAX_FILES) list.push(visible(path))
    }
  }
  return files
}

/** Names that somebody chose may hold what a terminal obeys. */
const visible = (text: string): string => text.replace(/\p{Cc}/gu, '\ufffd')

/** `git ls-tree -r -z --long`: mode, type, id, size, a tab and the path, which is whatever bytes somebody chose. */
async function listFiles(
  sandbox: Pick<Sandbox, 'exec'>,
  { directory, commit }: Checkout,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<Entry[]> {
  const args = [...new Set(paths)].filter(Boolean).map(quote).join(' ')
  const command = `git -C ${quote(`./${directory}`)} ls-tree -r -z --long --full-tree ${quote(commit)} -- ${args} | head -c ${MAX_LISTING_BYTES}`
  const listed = await readOutput(sandbox.exec({ ...OPTIONS, command, signal }))
  const records = listed.toString().split('\0')
  // The last one is empty, or was cut.
  records.pop()
  return records.flatMap((record) => {
    const found = /^(\d{6}) blob ([0-9a-f]{40,64}) +(\d+)\t([\s\S]+)$/.exec(record)
    if (!found) return []
    const [, mode = '', id = '', size = '', path = ''] = found
    return [{ mode, id, size: Number(size), path }]
  })
}

/** `git cat-file --batch`: a line with id, type and size, the contents, and the end of a line. */
async function readBlobs(
  sandbox: Pick<Sandbox, 'exec'>,
  { directory }: Checkout,
  entries: readonly Entry[],
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const texts = new Map<string, string>()
  if (entries.length === 0) return texts
  const ids = [...new Set(entries.map(({ id }) => id))]
  const command = `git -C ${quote(`./${directory}`)} cat-file --batch`
  const printed = await readOutput(
    sandbox.exec({ ...OPTIONS, command, stdin: `${ids.join('\n')}\n`, signal }),
  )
  for (let at = 0; at < printed.length; ) {
    const end = printed.indexOf(0x0a, at)
    const [id = '', type, size] = printed
      .subarray(at, end === -1 ? undefined : end)
      .toString()
      .split(' ')
    if (end === -1) break
    const length = type === 'blob' ? Number(size) : 0
    if (type === 'blob') texts.set(id, decode(printed.subarray(end + 1, end + 1 + length)))
    at = end + 1 + (type === 'blob' ? length + 1 : 0)
  }
  return texts
}

/** Editors of Windows write UTF-16 with a mark of its byte order. */
function decode(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes)
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be').decode(bytes)
  return bytes.toString()
}

const OPTIONS = {
  cwd: '/workspace',
  // What an agent wrote beside a commit does not stand in for it.
  env: { GIT_NO_REPLACE_OBJECTS: '1', GIT_NO_LAZY_FETCH: '1', GIT_LITERAL_PATHSPECS: '1' },
  timeout_ms: TIMEOUT_MS,
  max_output_bytes: 2 * MAX_BYTES,
}

async function readOutput(handle: ExecHandle): Promise<Buffer> {
  const { exit, stdout } = await collectExec(handle)
  // What takes too long has no skills; what is killed may have some.
  if (!exit.timed_out && exit.code === null) throw new SandboxFault('Reading the skills was stopped.')
  return stdout
}
