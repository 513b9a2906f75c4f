import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** What a filter is asked about. */
export interface Filtered {
  payload: unknown
  /** By their names in lower case. */
  headers: Record<string, string>
}

/** What the thread is asked: whether this is a filter, or what it says. */
export interface FilterQuestion {
  filter: string
  about?: Filtered
}

export interface FilterAnswer {
  passes: boolean
  /** What is wrong with the filter, or with asking it this. */
  wrong: string | null
}

const PROGRAM = fileURLToPath(new URL('./filter-process.ts', import.meta.url))
/** Each takes a process and its memory, and anybody who may send may send many. Others wait. */
const MOST_ASKED = 4
/** Of one owner: slow ones are to leave room for everybody else. */
const MOST_OF_ONE = 2
/** What it may write to, in KiB (RLIMIT_DATA): Node's limits do not hold for bytes. */
const LIMITED = 'ulimit -d 2097152; exec "$0" "$@"'
const TOO_LARGE = 'It takes more memory than there is for it.'

/** Why this is no filter, with line and column; `null` when it is one: a CEL expression over `payload` and `headers` that says true or false. */
export const checkFilter = async (filter: string): Promise<string | null> => (await ask({ filter })).wrong

/** Whether the filter is true. Where it cannot be told, `wrong` says why. `owner`: whose it is; one's do not hold up another's for long. */
export const passesFilter = (filter: string, about: Filtered, owner: string): Promise<FilterAnswer> =>
  ask({ filter, about }, owner)

/** Owners of what is being asked, once for each. */
const being_asked: string[] = []
const waiting: Array<{ owner: string; begin: () => void }> = []

async function ask(question: FilterQuestion, owner = ''): Promise<FilterAnswer> {
  await new Promise<void>((begin) => {
    waiting.push({ owner, begin })
    beginNext()
  })
  try {
    return await askProcess(question)
  } finally {
    being_asked.splice(being_asked.indexOf(owner), 1)
    beginNext()
  }
}

function beginNext(): void {
  if (being_asked.length >= MOST_ASKED) return
  const has_room = (owner: string) => being_asked.filter((one) => one === owner).length < MOST_OF_ONE
  const place = waiting.findIndex(({ owner }) => has_room(owner))
  const [next] = place < 0 ? [] : waiting.splice(place, 1)
  if (!next) return
  being_asked.push(next.owner)
  next.begin()
}

async function askProcess(question: FilterQuestion): Promise<FilterAnswer> {
  const { NODE_COMPILE_CACHE } = process.env
  const ended = new AbortController()
  const child = fork(PROGRAM, {
    // It is given what a stranger wrote, and needs nothing of this process.
    ...{ execPath: '/bin/sh', execArgv: ['-c', LIMITED, process.execPath] },
    ...{ cwd: '/', env: NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {} },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  child.once('exit', () => ended.abort())
  let failure: Error | null = null
  child.on('error', (error) => {
    failure = error
    ended.abort()
  })
  try {
    await once(child, 'message', { signal: ended.signal })
    const heard = once(child, 'message', { signal: ended.signal })
    child.send(question, () => {})
    const [answer] = (await heard) as [FilterAnswer]
    return answer
  } catch {
    // It could not be started: no filter is to blame.
    if (failure) throw failure
    return { passes: false, wrong: TOO_LARGE }
  } finally {
    child.kill('SIGKILL')
  }
}
