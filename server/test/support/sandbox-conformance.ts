import { execFile, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import {
  collectExec,
  DEFAULT_LIMITS,
  type ExecExit,
  type ExecOptions,
  type Sandbox,
  type SandboxBackend,
  type SandboxSpec,
} from '../../src/sandbox/sandbox.ts'
import { type BackendName, openBackend } from './sandbox-backends.ts'
import { testCommands } from './sandbox-conformance-commands.ts'
import { testDisk } from './sandbox-conformance-disk.ts'
import { testExec } from './sandbox-conformance-exec.ts'
import { testFiles } from './sandbox-conformance-files.ts'
import { testIsolation } from './sandbox-conformance-isolation.ts'
import { testLifecycle } from './sandbox-conformance-lifecycle.ts'
import type { SandboxOrder } from './sandbox-process.ts'

/** What the cases work with. Everything made through it is removed when the suite ends. */
export interface Subject {
  name: BackendName
  backend: SandboxBackend
  data_dir: string
  installation_id: string
  spec(overrides?: Partial<SandboxSpec>): SandboxSpec
  create(overrides?: Partial<SandboxSpec>): Promise<Sandbox>
  /** Arguments of `sandbox-process.ts` for one order. */
  order(order: Order): string[]
  /** Carries an order out in another process and returns what it printed. */
  elsewhere(order: Order, env?: Record<string, string>): Promise<string>
}

type Order = SandboxOrder extends infer Each
  ? Each extends SandboxOrder
    ? Omit<Each, 'backend' | 'data_dir' | 'installation_id'>
    : never
  : never

/** Runs every case that applies to the backend: what a capability rules out is asserted to be ruled out. */
export function testSandboxBackend(name: BackendName): void {
  // Which cases there are depends on what the opened backend can do.
  describe(`${name} sandbox`, async () => {
    const data_dir = await mkdtemp(join(tmpdir(), 'runyard-sandbox-'))
    const installation_id = randomUUID()
    const backend = await openBackend(name, { data_dir, installation_id })
    const spec: Subject['spec'] = (overrides) => ({
      run_id: randomUUID(),
      attempt: 1,
      limits: DEFAULT_LIMITS,
      egress: backend.capabilities.egress.includes('none') ? 'none' : 'open',
      env: {},
      ...overrides,
    })
    const program = join(import.meta.dirname, 'sandbox-process.ts')
    const order: Subject['order'] = (what) => [
      program,
      JSON.stringify({ backend: name, data_dir, installation_id, ...what }),
    ]
    const subject: Subject = {
      name,
      backend,
      data_dir,
      installation_id,
      spec,
      create: (overrides) => backend.create(spec(overrides)),
      order,
      async elsewhere(what, env = {}) {
        const { stdout } = await promisify(execFile)(process.execPath, order(what), {
          env: { ...process.env, ...env },
        })
        return JSON.parse(stdout)
      },
    }
    after(async () => {
      for (const { ref } of await backend.list()) await backend.destroy(ref)
      await rm(data_dir, { recursive: true })
    })
    testExec(subject)
    testCommands(subject)
    testFiles(subject)
    testDisk(subject)
    testIsolation(subject)
    testLifecycle(subject)
  })
}

export interface Result {
  exit: ExecExit
  stdout: string
  stderr: string
}

/** Runs a command to its end. */
export async function run(
  sandbox: Sandbox,
  command: string,
  options: Omit<ExecOptions, 'command'> = {},
): Promise<Result> {
  const { exit, stdout, stderr } = await collectExec(sandbox.exec({ ...options, command }))
  return { exit, stdout: stdout.toString(), stderr: stderr.toString() }
}

/** Polls until `check` returns something truthy and returns it; throws after `limit_ms`. */
export async function eventually<Value>(
  what: string,
  check: () => Value | Promise<Value>,
  limit_ms = 10_000,
): Promise<Value> {
  const deadline = performance.now() + limit_ms
  for (;;) {
    const value = await check()
    if (value) return value
    if (performance.now() > deadline) throw new Error(`Not within ${limit_ms} ms: ${what}`)
    await delay(20)
  }
}

/** A number of seconds nobody else sleeps, so that the `sleep` of a test is found among all processes of the host. */
export function uniqueSeconds(): string {
  return String(100_000 + Math.floor(Math.random() * 1e9))
}

/** Command lines of the host's living processes that contain `text` as one argument. */
export function processesWith(text: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      } catch {
        return ''
      }
    })
    .filter((line) => line.split('\0').includes(text))
}

/** Starts an order in a process that stays; resolves with its first line of output. */
export async function startElsewhere(
  subject: Subject,
  what: Order,
): Promise<{ pid: number; line: string; killed: Promise<void> }> {
  const child = spawn(process.execPath, subject.order(what), { stdio: ['ignore', 'pipe', 'inherit'] })
  const killed = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  for await (const data of child.stdout) return { pid: child.pid ?? 0, line: String(data), killed }
  throw new Error('The other process ended without a word')
}
