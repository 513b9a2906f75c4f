import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { constants } from 'node:os'
import { createInterface } from 'node:readline'
import { quote, SandboxFault } from './sandbox.ts'

/** A program and its arguments. */
export type Launch = readonly [file: string, ...args: string[]]

/** A descriptor of the service's that a program gets. The program opens it anew: whether ours blocks is not passed on. */
export interface Descriptor {
  /** Its number in the program, 0 to 8. */
  at: number
  ours: number
  mode: 'read' | 'write'
}

export interface ProgramEnd {
  code: number | null
  /** By its name, such as `SIGKILL`. An exit code of 128 + n cannot be told from signal n. */
  signal: string | null
}

/** A started program, in a session of its own: a terminal's Ctrl-C is for the service alone. */
export interface Program {
  /** Of the program, and of its session. */
  pid: number
  /** Rejects with `SandboxFault` where nobody knows, because the shell that started it was killed. */
  ended: Promise<ProgramEnd>
  /** Whether it keeps the service from its end. It does at first. */
  keepAwake(awake: boolean): void
  /** Kills it and what is left in its session, as its end does. */
  kill(): void
}

interface Entry {
  pid: number | null
  has_descriptors: boolean
  watcher: number | null
  end: ProgramEnd | null
  is_over: boolean
  started: PromiseWithResolvers<number>
  ended: PromiseWithResolvers<ProgramEnd>
  keeps_awake: boolean
}

/** Between two looks for watchers that are gone. */
const LOOK_MS = 2_000

let starter: Starter | null = null

/**
 * Starts a program with an empty input, no outputs, `/` as its directory and the `PATH` of the service, but for `descriptors`, which
 * may be closed once this has resolved. Throws `SandboxFault`. A file that does not exist ends with code 127.
 */
export function startProgram(words: Launch, descriptors: readonly Descriptor[] = []): Promise<Program> {
  if (!starter?.is_open) starter = new Starter()
  return starter.start(words, descriptors)
}

/**
 * A small shell beside the service, which starts programs for it. Node starts one by a fork: the kernel copies the page tables of
 * the whole process, 5 ms and more at 240 MB, while nothing else runs. The shell has next to none.
 *
 * Each program has a watcher, a copy of the shell, which waits for it and says how it ended. When the service ends, however it
 * does, the shell comes to the end of its input and kills the watchers, and with them all that asked to die with its parent.
 */
class Starter {
  readonly #shell: ChildProcess
  readonly #entries = new Map<number, Entry>()
  readonly #looks: NodeJS.Timeout
  #last_id = 0
  is_open = true

  constructor() {
    // Not the service's own environment: others of its user could read its keys there.
    const env = { PATH: process.env.PATH, LC_ALL: 'C' }
    const stdio = ['pipe', 'pipe', 'ignore'] as const
    this.#shell = spawn('/bin/sh', ['-s'], { cwd: '/', detached: true, env, stdio: [...stdio] })
    const { stdin, stdout } = this.#shell
    if (!stdin || !stdout) throw new SandboxFault('The shell was started without pipes')
    stdin.on('error', () => {})
    stdout.on('error', () => {})
    createInterface({ input: stdout }).on('line', (line) => this.#take(line))
    this.#shell.once('error', ({ message }) => this.#end(message))
    this.#shell.once('exit', (code, signal) => this.#end(`it ended with ${signal ?? code}`))
    this.#tell("trap 'kill -9 0' EXIT")
    this.#looks = setInterval(() => this.#look(), LOOK_MS).unref()
    this.#shell.unref()
    if (stdin instanceof Socket) stdin.unref()
    this.#setAwake()
  }

  async start(words: Launch, descriptors: readonly Descriptor[]): Promise<Program> {
    this.#last_id += 1
    const id = this.#last_id
    const entry: Entry = {
      ...{ pid: null, has_descriptors: false, watcher: null, end: null, is_over: false },
      keeps_awake: true,
      started: Promise.withResolvers(),
      ended: Promise.withResolvers(),
    }
    entry.ended.promise.catch(() => {})
    this.#entries.set(id, entry)
    this.#setAwake()
    const opened = descriptors.map(
      ({ at, ours, mode }) => `${at}${mode === 'read' ? '<' : '>'}/proc/${process.pid}/fd/${ours}`,
    )
    const streams = ['9>&1', '</dev/null', '>/dev/null', '2>/dev/null', ...opened].join(' ')
    const program = `{ echo "opened ${id}" >&9; exec setsid ${words.map(quote).join(' ')} 9>&-; } ${streams}`
    const watcher = `{ trap 'echo "ended ${id} $?"' EXIT; ${program} & echo "pid ${id} $!"; wait $!; }`
    // Where the machine has no process left for it, a fork ends the shell that asked for it, but not within this.
    this.#tell(`command eval ${quote(`${watcher} & echo "watcher ${id} $!"`)} || echo "failed ${id}"`)
    const pid = await entry.started.promise
    return {
      pid,
      ended: entry.ended.promise,
      keepAwake: (awake) => {
        entry.keeps_awake = awake
        this.#setAwake()
      },
      kill() {
        // Once it has ended, another may have its number.
        if (entry.is_over || kill(-pid)) return
        // It has its descriptors, but no session yet, unless it has just made one and gone on.
        kill(pid)
        kill(-pid)
      },
    }
  }

  #tell(command: string): void {
    this.#shell.stdin?.write(`${command}\n`)
  }

  #take(line: string): void {
    const [what, id = '', number] = line.split(' ')
    const entry = this.#entries.get(Number(id))
    if (!entry) return
    if (what === 'pid') entry.pid = Number(number)
    if (what === 'opened') entry.has_descriptors = true
    if (what === 'watcher') entry.watcher = Number(number)
    if (what === 'ended') entry.end = readEnd(Number(number))
    if (entry.pid !== null && entry.has_descriptors) entry.started.resolve(entry.pid)
    if (what === 'ended') endSession(entry)
    if (what === 'failed' || (entry.end && entry.watcher !== null)) this.#settle(Number(id), entry)
  }

  #settle(id: number, entry: Entry): void {
    this.#entries.delete(id)
    entry.started.reject(
      new SandboxFault(
        'A program got no process, or not its descriptors, which a node with file capabilities (setcap) cannot pass on',
      ),
    )
    if (entry.end) entry.ended.resolve(entry.end)
    else entry.ended.reject(new SandboxFault('What waits for a program is gone'))
    // Else it would stay as a zombie.
    if (entry.watcher !== null) this.#tell(`wait ${entry.watcher}`)
    this.#setAwake()
  }

  /** A watcher that was killed alone says nothing. What it said before is heard by the next look. */
  #look(): void {
    for (const [id, entry] of this.#entries) {
      if (entry.watcher === null || isRunning(entry.watcher)) continue
      if (entry.is_over) this.#settle(id, entry)
      else endSession(entry)
    }
  }

  #end(why: string): void {
    if (!this.is_open) return
    this.is_open = false
    clearInterval(this.#looks)
    if (this.#shell.pid !== undefined) kill(-this.#shell.pid)
    const fault = new SandboxFault(`The shell that starts programs is gone: ${why}`)
    for (const entry of this.#entries.values()) {
      endSession(entry)
      entry.started.reject(fault)
      entry.ended.reject(fault)
    }
    this.#entries.clear()
  }

  /** What nobody waits for does not keep the service from its end. */
  #setAwake(): void {
    const { stdout } = this.#shell
    if (!(stdout instanceof Socket)) return
    const awake = this.is_open && [...this.#entries.values()].some(({ keeps_awake }) => keeps_awake)
    awake ? stdout.ref() : stdout.unref()
  }
}

/** A process, or a group of them; false: there is none. */
function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL')
  } catch {
    return false
  }
}

/**
 * Kills the rest of a session as soon as its leader has ended. Later the session may be empty, and the kernel may give its number to
 * another.
 */
function endSession(entry: Entry): void {
  entry.is_over = true
  if (entry.pid !== null) kill(-entry.pid)
}

function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

function readEnd(code: number): ProgramEnd {
  const signal = Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0]
  return signal === undefined ? { code, signal: null } : { code: null, signal }
}
