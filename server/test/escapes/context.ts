import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Gateway } from '../../src/gateway/gateway.ts'
import { openGateway } from '../../src/gateway/open-gateway.ts'
import {
  DEFAULT_LIMITS,
  type ExecHandle,
  type ExecOptions,
  type Sandbox,
  type SandboxBackend,
  type SandboxSpec,
} from '../../src/sandbox/sandbox.ts'
import { type BackendName, openBackend } from '../support/sandbox-backends.ts'
import { type Result, run } from '../support/sandbox-conformance.ts'
import type { SandboxOrder } from '../support/sandbox-process.ts'
import { type AttackedService, startAttackedService } from './attacked-service.ts'
import type { Probe, SubjectName, Verdict } from './probe.ts'

const BACKENDS: Record<SubjectName, BackendName> = {
  'bubblewrap-root': 'bubblewrap',
  'bubblewrap-user': 'bubblewrap',
  docker: 'docker',
  open: 'host',
}

const GATEWAY = fileURLToPath(new URL('../../src/gateway-process.ts', import.meta.url))

/** What probes work with on one backend. What they make through it is removed after each probe. */
export class Context {
  readonly subject: SubjectName
  readonly backend: SandboxBackend
  readonly data_dir: string
  readonly installation_id: string
  /** A word that stands nowhere else; new for each probe. */
  canary = ''
  #shared: Sandbox | null = null
  #gateway: Gateway | null = null
  #service: Promise<AttackedService> | null = null
  readonly #cleaners: Array<() => unknown> = []

  private constructor(subject: SubjectName, backend: SandboxBackend, data_dir: string, id: string) {
    this.subject = subject
    this.backend = backend
    this.data_dir = data_dir
    this.installation_id = id
  }

  static async open(subject: SubjectName): Promise<Context> {
    // Readable by all, so that only the sandbox keeps a sandbox out.
    const data_dir = await mkdtemp(join(tmpdir(), 'runyard-escapes-'))
    await chmod(data_dir, 0o755)
    const installation_id = randomUUID()
    const backend = await openBackend(BACKENDS[subject], { data_dir, installation_id })
    return new Context(subject, backend, data_dir, installation_id)
  }

  async attempt(probe: Probe): Promise<Verdict> {
    this.canary = `canary-${randomUUID()}`
    try {
      return await probe.run(this)
    } finally {
      for (const clean of this.#cleaners.splice(0).reverse()) await clean()
    }
  }

  /** Runs after the probe, whatever its verdict; the last one first. */
  after(clean: () => unknown): void {
    this.#cleaners.push(clean)
  }

  spec(overrides: Partial<SandboxSpec> = {}): SandboxSpec {
    return {
      run_id: randomUUID(),
      attempt: 1,
      limits: DEFAULT_LIMITS,
      egress: this.subject === 'open' ? 'open' : 'none',
      env: {},
      ...overrides,
    }
  }

  /** A sandbox of the probe's own. */
  async create(overrides: Partial<SandboxSpec> = {}): Promise<Sandbox> {
    const sandbox = await this.backend.create(this.spec(overrides))
    this.after(() => sandbox.destroy())
    return sandbox
  }

  /** One whose only way out is a proxy for these hosts. */
  async createListed(hosts: string[]): Promise<Sandbox> {
    this.#gateway ??= openGateway(GATEWAY, { error() {} })
    const proxy = await this.#gateway.open({ hosts, private_hosts: [] }, () => {})
    this.after(() => proxy.close())
    return this.create({ egress: 'allowlist', proxy })
  }

  /** The sandbox for probes that only look. */
  async look(): Promise<Sandbox> {
    this.#shared ??= await this.backend.create(this.spec())
    return this.#shared
  }

  /** A command of the attacker, in the sandbox for probes that only look unless another is given. */
  async run(command: string, options: RunOptions = {}): Promise<Result> {
    const { sandbox, ...more } = options
    return run(sandbox ?? (await this.look()), command, { timeout_ms: 30_000, ...more })
  }

  /**
   * A program of `inside/` with arguments; throws when there is no perl, or when it did not come to its end, where it
   * prints `done`.
   */
  async perl(name: string, args: readonly string[] = [], options: RunOptions = {}): Promise<string> {
    const words = args.map((arg) => `'${arg.replaceAll("'", `'\\''`)}'`)
    const result = await this.run(`exec perl - ${words.join(' ')}`, { ...options, stdin: program(name) })
    if (!/^done$/m.test(result.stdout))
      throw new Error(
        `could not run ${name}: ${JSON.stringify(result.exit)} ${result.stdout} ${result.stderr}`,
      )
    return result.stdout.replace(/^done\n/m, '')
  }

  /** The service with its people, started at first use and kept for all probes. */
  service(): Promise<AttackedService> {
    this.#service ??= startAttackedService(BACKENDS[this.subject], this.subject === 'open')
    return this.#service
  }

  /** Kills the service of the probes, which may not answer any more; the next that needs one gets another. */
  async dropService(): Promise<void> {
    const service = await this.#service
    this.#service = null
    await service?.kill('SIGKILL')
  }

  /** Arguments to carry out an order on sandboxes in a process of its own. */
  order(order: Order): string[] {
    const program = join(import.meta.dirname, '../support/sandbox-process.ts')
    const { data_dir, installation_id } = this
    const whole = { backend: BACKENDS[this.subject], data_dir, installation_id, ...order }
    return [process.execPath, program, JSON.stringify(whole)]
  }

  /** Starts a program that is killed with all it started after the probe; resolves when it has said `until` or ended. */
  async start(
    words: readonly string[],
    options: { env?: Record<string, string>; until?: RegExp; seconds?: number } = {},
  ): Promise<{ pid: number; output: string; ended: Promise<void> }> {
    const [file = '', ...args] = words
    const child = spawn(file, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      env: { ...process.env, ...options.env },
    })
    const { pid } = child
    if (!pid) throw new Error(`could not start ${file}`)
    this.after(() => killGroup(pid))
    let output = ''
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    const said = new Promise<void>((resolve) => {
      const take = (data: Buffer) => {
        output += data
        if (options.until?.test(output)) resolve()
      }
      child.stdout.on('data', take)
      child.stderr.on('data', take)
      child.once('close', () => resolve())
      setTimeout(resolve, (options.seconds ?? 30) * 1000).unref()
    })
    await said
    return { pid, output, ended }
  }

  async close(): Promise<void> {
    await (await this.#service)?.stop()
    await this.#shared?.destroy()
    await this.#gateway?.close()
    for (const { ref } of await this.backend.list()) await this.backend.destroy(ref)
    await rm(this.data_dir, { recursive: true, force: true })
  }
}

type RunOptions = Omit<ExecOptions, 'command'> & { sandbox?: Sandbox }

type Order = SandboxOrder extends infer Each
  ? Each extends SandboxOrder
    ? Omit<Each, 'backend' | 'data_dir' | 'installation_id'>
    : never
  : never

/** What a command prints, until it matches or ends; the command goes on. */
export async function readUntil(handle: ExecHandle, pattern: RegExp): Promise<string> {
  let text = ''
  for await (const { data } of handle.output) {
    text += Buffer.from(data)
    if (pattern.test(text)) break
  }
  return text
}

/** The text of a program that runs inside. */
export const program = (name: string): string =>
  readFileSync(new URL(`inside/${name}`, import.meta.url), 'utf8')

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // Ended.
  }
}
