import { spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, realpath, rm, writeFile } from 'node:fs/promises'
import { isAbsolute, join, resolve } from 'node:path'
import { measureDisk } from './disk-usage.ts'
import { isEmptyFolder } from './empty-folder.ts'
import { exitOfShell, type RunningCommand, superviseExec } from './exec-handle.ts'
import { makeFileOperations } from './file-operations.ts'
import { limitVariables } from './memory-kills.ts'
import { findTree, isMarkedBy, makeMarker, readEnvironment, signalTree } from './process-tree.ts'
import {
  type ExecHandle,
  type ExecOptions,
  quote,
  requireEgress,
  type Sandbox,
  type SandboxBackend,
  type SandboxCapabilities,
  SandboxFault,
  type SandboxInfo,
  type SandboxRef,
  type SandboxSpec,
} from './sandbox.ts'
import { type SandboxRecord, SandboxRecords } from './sandbox-records.ts'
import { openStandardStreams } from './standard-streams.ts'

interface Details {
  installation_id: string
}

/** Of the service's own environment only what programs need to find each other and their user's settings. */
const PASSED_ON = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'LC_ALL', 'TMPDIR', 'TZ']

/**
 * Opens the host backend: commands run as the service's user on the host itself, with directories below
 * `<data_dir>/sandboxes/host` as workspaces. It isolates nothing and is for machines whose owner trusts every prompt.
 * `/workspace` in a path given to the interface means the workspace; commands find it as `$RUNYARD_WORKSPACE`.
 */
export async function openHost(options: {
  data_dir: string
  installation_id: string
}): Promise<SandboxBackend> {
  const root = resolve(options.data_dir, 'sandboxes', 'host')
  await mkdir(root, { recursive: true })
  const records = new SandboxRecords<Details>(await realpath(root))
  await records.open()
  return new Host(records, `host:${await records.readPlace()}`, options.installation_id)
}

class Host implements SandboxBackend {
  readonly name = 'host'
  readonly capabilities: SandboxCapabilities = {
    isolation: 'none',
    pause: true,
    limits: 'none',
    disk_quota: false,
    egress: ['open'],
    background_processes: true,
  }
  readonly description =
    'host: NO ISOLATION; agents run as the service’s user and can read and change whatever it can'
  readonly weaknesses = [{ says: 'nothing is limited', fix: 'Use Docker or bubblewrap.' }]
  readonly place: string
  readonly storage: string
  readonly program_folders = (process.env.PATH ?? '').split(':').filter(isAbsolute)
  readonly #records: SandboxRecords<Details>
  readonly #installation_id: string
  readonly #tag: string
  readonly #shell = existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh'

  constructor(records: SandboxRecords<Details>, place: string, installation_id: string) {
    this.place = place
    this.#records = records
    this.storage = records.root
    this.#installation_id = installation_id
    this.#tag = createHash('sha256').update(records.root).digest('hex').slice(0, 12)
  }

  async create(spec: SandboxSpec): Promise<Sandbox> {
    requireEgress(this, spec)
    for (const older of await this.#records.ofRun(spec.run_id)) {
      if (older.attempt >= spec.attempt && !older.removed)
        throw new SandboxFault(`Run ${spec.run_id} already has a sandbox of attempt ${older.attempt}`)
      await this.destroy(this.#refOf(older))
    }
    const details = { installation_id: this.#installation_id }
    const record = await this.#records.create(spec.run_id, spec.attempt, details)
    if (!record) throw new SandboxFault(`Attempt ${spec.attempt} of run ${spec.run_id} already has a sandbox`)
    await mkdir(this.#workspace(record.id), { mode: 0o700 })
    for (const name of spec.folders ?? []) await mkdir(join(this.#workspace(record.id), name))
    return this.#open(record, spec)
  }

  async attach(spec: SandboxSpec): Promise<Sandbox | null> {
    requireEgress(this, spec)
    const [latest] = (await this.#records.ofRun(spec.run_id)).filter((record) => !record.removed)
    if (!latest) return null
    const owned = await this.#records.update(latest.id, (current) =>
      current.removed || current.attempt > spec.attempt ? null : { ...current, attempt: spec.attempt },
    )
    if (!owned) return null
    await this.#signal(owned, 'SIGKILL')
    return this.#open(owned, spec)
  }

  async list(): Promise<SandboxInfo[]> {
    return (await this.#records.list())
      .filter((record) => record.details.installation_id === this.#installation_id)
      .map((record) => ({ ref: this.#refOf(record), created_at: record.created_at }))
  }

  async freeze(ref: SandboxRef): Promise<void> {
    const record = await this.#current(ref)
    if (record) await this.#signal(record, 'SIGSTOP')
  }

  async thaw(ref: SandboxRef): Promise<void> {
    const record = await this.#current(ref)
    if (record) await this.#signal(record, 'SIGCONT')
  }

  async kill(ref: SandboxRef): Promise<void> {
    const record = await this.#current(ref)
    if (record) await this.#signal(record, 'SIGKILL')
  }

  removeLeftovers(): Promise<number> {
    return this.#records.removeLeftovers()
  }

  async destroy(ref: SandboxRef): Promise<void> {
    const record = await this.#records.update(ref.id, (current) =>
      current.attempt > ref.attempt ? null : { ...current, removed: true },
    )
    if (!record) return
    await this.#signal(record, 'SIGKILL')
    await this.#records.remove(record.id)
  }

  #open(record: SandboxRecord<Details>, spec: SandboxSpec): Sandbox {
    const ref = this.#refOf(record)
    const exec = (options: ExecOptions, env: Record<string, string>): ExecHandle =>
      superviseExec(options, () => this.#start(record, options, env))
    const { disk_bytes } = spec.limits
    return {
      ref,
      workspace: '/workspace',
      // The worker watches the disk; nothing holds the others.
      limits: { disk_bytes },
      exec: (options) => exec(options, { ...limitVariables({ disk_bytes }), ...spec.env, ...options.env }),
      ...makeFileOperations((options) => exec(options, {}), {
        import_bytes: spec.limits.disk_bytes,
        locate: (path) => this.#locate(record.id, path),
      }),
      isEmpty: (folder) => isEmptyFolder(join(this.#workspace(record.id), folder)),
      hold: async () => {
        await this.#signal(record, 'SIGSTOP')
        return () => this.#signal(record, 'SIGCONT')
      },
      usage: (signal) =>
        measureDisk({
          directories: [this.#workspace(record.id)],
          pids: findTree(this.#isRootOf(record)),
          ...(signal ? { signal } : {}),
        }),
      killAll: () => this.kill(ref),
      destroy: () => this.destroy(ref),
    }
  }

  async #start(
    record: SandboxRecord<Details>,
    options: ExecOptions,
    env: Record<string, string>,
  ): Promise<RunningCommand> {
    const now = await this.#records.read(record.id)
    if (!now || now.removed || now.attempt !== record.attempt)
      throw new SandboxFault('The sandbox is gone or belongs to a later attempt')
    const workspace = this.#workspace(record.id)
    const directory = this.#records.directory(record.id)
    const exec_id = randomUUID()
    // A file, since an argument cannot be longer than 128 KiB.
    const script = join(directory, `script-${exec_id}`)
    // The service's own files are private; what is made in a workspace has the usual modes, as in other sandboxes.
    const move = `umask 022; cd -- ${quote(this.#locate(record.id, options.cwd ?? '/workspace'))} || exit 126; `
    const child_options = {
      cwd: workspace,
      detached: true,
      env: {
        ...Object.fromEntries(PASSED_ON.map((name) => [name, process.env[name]])),
        // Variables that point into the workspace must do so here too.
        ...Object.fromEntries(
          Object.entries(env).map(([name, value]) => [name, this.#locate(record.id, value)]),
        ),
        RUNYARD_WORKSPACE: workspace,
        RUNYARD_SANDBOX: makeMarker(this.#nameOf(record.id), record.attempt),
        RUNYARD_EXEC: exec_id,
      },
    }
    await writeFile(script, `${move}${options.command}\n`, { mode: 0o600 })
    const streams = await openStandardStreams(directory, null, options.stdin)
    const { stdout, stderr } = streams.outputs
    const stdin = streams.stdin ?? (options.stdin === undefined ? 'ignore' : 'pipe')
    // By Node, not by `startProgram`: the environment would stand in arguments, which everybody on the machine can read.
    const start = () => {
      try {
        return spawn(this.#shell, [script], { ...child_options, stdio: [stdin, stdout, stderr] })
      } catch (error) {
        // An environment that is too long, say.
        for (const stream of [streams.stdout, streams.stderr]) stream.destroy()
        throw error
      } finally {
        streams.release()
      }
    }
    const child = start()
    const ended = new Promise<{ code: number | null; signal: string | null }>((resolve, reject) => {
      child.once('error', (error) => reject(new SandboxFault(`The shell did not start: ${error.message}`)))
      child.once('exit', (code, signal) => {
        rm(script, { force: true }).then(
          () => resolve(code === null ? { code, signal } : exitOfShell(code)),
          reject,
        )
      })
    })
    return {
      stdin: child.stdin,
      stdout: streams.stdout,
      stderr: streams.stderr,
      ended,
      // What is left is killed with the sandbox, which says so where it fails.
      kill: () =>
        signalTree((pid) => readVariable(pid, 'RUNYARD_EXEC') === exec_id, 'SIGKILL').catch(() => {}),
    }
  }

  /** The record, unless a later attempt owns the sandbox: its processes are none of the caller's. */
  async #current(ref: SandboxRef): Promise<SandboxRecord<Details> | null> {
    const record = await this.#records.read(ref.id)
    return record && record.attempt <= ref.attempt ? record : null
  }

  /**
   * Reaches what the record's owner and those before it started, unless that emptied its environment and left its
   * parents: the host's limit.
   */
  async #signal(record: SandboxRecord<Details>, signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): Promise<void> {
    await signalTree(this.#isRootOf(record), signal)
  }

  #isRootOf(record: SandboxRecord<Details>): (pid: number) => boolean {
    const sandbox = this.#nameOf(record.id)
    return (pid) => isMarkedBy(readVariable(pid, 'RUNYARD_SANDBOX'), sandbox, record.attempt)
  }

  #locate(id: string, path: string): string {
    const relative = /^\/workspace(?=\/|$)/.exec(path)
    return relative ? this.#workspace(id) + path.slice('/workspace'.length) : path
  }

  #workspace(id: string): string {
    return join(this.#records.directory(id), 'workspace')
  }

  /** Unique on this host. */
  #nameOf(id: string): string {
    return `${this.#tag}-${id}`
  }

  #refOf({ id, run_id, attempt }: SandboxRecord<Details>): SandboxRef {
    return { backend: this.name, id, run_id, attempt }
  }
}

function readVariable(pid: number, name: string): string {
  const word = readEnvironment(pid).find((variable) => variable.startsWith(`${name}=`))
  return word?.slice(name.length + 1) ?? ''
}
