import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { computations } from './computations.ts'
import { measureJson } from './json-size.ts'

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
/** What it may write to, in KiB (RLIMIT_DATA): Node's limits do not hold for bytes. */
const LIMITED = 'ulimit -d 2097152; exec "$0" "$@"'
const TOO_LARGE = 'It takes more memory than there is for it.'

/**
 * Why this is no filter, with line and column; `null` when it is one: a CEL expression over `payload` and `headers` that says
 * true or false. `owner`: the principal who saves it. Throws 429 `resource_unavailable` if too many checks are waiting.
 */
export const checkFilter = async (filter: string, owner: string): Promise<string | null> =>
  (await ask({ filter }, owner)).wrong

/**
 * Whether the filter is true. Where it cannot be told, `wrong` says why. `owner`: the principal who saved it last, whose
 * triggers share a budget. Throws 429 `resource_unavailable` if too many checks are waiting.
 */
export const passesFilter = (filter: string, about: Filtered, owner: string): Promise<FilterAnswer> =>
  ask({ filter, about }, owner)

/** A filter can double a text: what it is asked about counts against its owner's budget. */
const ask = (question: FilterQuestion, owner: string): Promise<FilterAnswer> =>
  computations.run({ owner, bytes: measureJson(question).bytes }, () => askProcess(question))

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
