import { type ChildProcess, execFile } from 'node:child_process'
import { createHash, randomInt, randomUUID } from 'node:crypto'
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, chown, mkdir, realpath, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import {
  type BubblewrapCommand,
  type BubblewrapHost,
  DESCRIPTORS,
  findProgram,
  makeArguments,
  makeLaunch,
  makeScript,
  markerArguments,
  npmOf,
} from './bubblewrap-command.ts'
import {
  type ControlGroup,
  type ControlGroupParent,
  findControlGroupParent,
  freezeControlGroup,
  joinFiles,
  killControlGroup,
  limitsHold,
  makeControlGroup,
  removeControlGroup,
  thawControlGroup,
} from './control-group.ts'
import { exitOfShell, type RunningCommand, superviseExec } from './exec-handle.ts'
import { makeFileOperations } from './file-operations.ts'
import { readArguments, signalTree } from './process-tree.ts'
import {
  DEFAULT_LIMITS,
  type ExecHandle,
  type ExecOptions,
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
import { makeSeccompFilter } from './seccomp-filter.ts'
import { planStaging } from './staging.ts'
import { openStandardStreams, type StandardStreams, spawnOn } from './standard-streams.ts'

const run = promisify(execFile)

/** `--disable-userns` and `--size` are there from this version on. */
const OLDEST_BWRAP = [0, 8] as const
/** Users of sandboxes come from here: far from accounts and from the ranges of `/etc/subuid`. */
const FIRST_UID = 0x60000000
const UIDS = 0x10000000
const MESSAGE_BYTES = 4096

interface Details {
  installation_id: string
  uid: number | null
  group: ControlGroup | null
}

/**
 * Opens the bubblewrap backend with its sandboxes below `<data_dir>/sandboxes/bubblewrap`. Started by root each sandbox gets a user
 * and a control group of its own; by anybody else all run as that user. Throws when this machine cannot run it, saying
 * what is missing.
 */
export async function openBubblewrap(options: {
  data_dir: string
  installation_id: string
}): Promise<SandboxBackend> {
  const root = resolve(options.data_dir, 'sandboxes', 'bubblewrap')
  await mkdir(root, { recursive: true })
  const records = new SandboxRecords<Details>(await realpath(root))
  await records.open()
  const host = await inspectHost(records.root)
  const backend = new Bubblewrap(host, records, options.installation_id)
  await backend.prepare()
  return backend
}

class Bubblewrap implements SandboxBackend {
  readonly name = 'bubblewrap'
  readonly capabilities: SandboxCapabilities
  readonly description: string
  readonly #host: BubblewrapHost
  readonly #records: SandboxRecords<Details>
  readonly #installation_id: string
  readonly #groups: ControlGroupParent | null = findControlGroupParent()
  /** Tells sandboxes of different data directories apart in process and control group names. */
  readonly #place: string

  constructor(host: BubblewrapHost, records: SandboxRecords<Details>, installation_id: string) {
    this.#host = host
    this.#records = records
    this.#installation_id = installation_id
    this.#place = createHash('sha256').update(records.root).digest('hex').slice(0, 12)
    const limits = limitsHold(this.#groups) ? 'hard' : 'weak'
    this.capabilities = {
      isolation: 'namespace',
      pause: true,
      limits,
      disk_quota: false,
      egress: ['none', 'open'],
      background_processes: false,
    }
    this.description = [
      'bubblewrap: Linux namespaces and a system call filter on the host’s own kernel and system files',
      host.root ? 'a user per sandbox' : 'all sandboxes share the service’s user',
      limits === 'hard'
        ? 'memory and processes limited by control groups'
        : 'weak limits: no writable control groups, so memory is limited by process only',
      'no disk quota',
    ].join('; ')
  }

  /** Writes the files all sandboxes share and proves that a command runs. */
  async prepare(): Promise<void> {
    const common = this.#common
    await mkdir(join(this.#records.root, 'uids'), { recursive: true, mode: 0o700 })
    await mkdir(common, { recursive: true })
    await chmod(common, 0o755)
    const filter = makeSeccompFilter(process.arch)
    if (!filter)
      throw new SandboxFault(`No system call filter for ${process.arch}: bubblewrap is not offered here`)
    const files = {
      passwd: `root:x:0:0:root:/:/usr/sbin/nologin\nagent:x:1000:1000:agent:/home/agent:${this.#host.shell}\n`,
      group: 'root:x:0:\nagent:x:1000:\n',
      gitconfig:
        '[user]\n\tname = Runyard agent\n\temail = agent@runyard.invalid\n[init]\n\tdefaultBranch = main\n',
      hosts: '127.0.0.1 localhost sandbox\n::1 localhost\n',
      'seccomp.bpf': filter,
    }
    for (const [name, content] of Object.entries(files)) {
      const path = join(common, name)
      await writeFile(path, content)
      await chmod(path, 0o644)
    }
    const probe = await this.create({
      run_id: randomUUID(),
      attempt: 1,
      limits: DEFAULT_LIMITS,
      egress: 'none',
      env: {},
    })
    try {
      const exit = await probe.exec({ command: 'true' }).exit
      if (exit.code !== 0) throw new SandboxFault(`A trial command ended with ${exit.code ?? exit.signal}`)
    } finally {
      await probe.destroy()
    }
  }

  async create(spec: SandboxSpec): Promise<Sandbox> {
    requireEgress(this, spec)
    for (const older of await this.#records.ofRun(spec.run_id)) {
      if (older.attempt >= spec.attempt && !older.removed)
        throw new SandboxFault(`Run ${spec.run_id} already has a sandbox of attempt ${older.attempt}`)
      await this.destroy(this.#refOf(older))
    }
    const uid = this.#host.root ? await this.#allocateUid() : null
    const record = await this.#records.create(spec.run_id, spec.attempt, {
      installation_id: this.#installation_id,
      uid,
      group: null,
    })
    if (!record) throw new SandboxFault(`Attempt ${spec.attempt} of run ${spec.run_id} already has a sandbox`)
    const places = this.#places(record.id)
    for (const path of [places.workspace, places.home, places.tmp]) {
      await mkdir(path, { recursive: true, mode: 0o700 })
      if (uid !== null) await chown(path, uid, uid)
    }
    // Only its own user passes, so other users of the host cannot look in.
    const directory = this.#records.directory(record.id)
    if (uid !== null) await chown(directory, 0, uid)
    await chmod(directory, 0o710)
    const owned = await this.#takeOver(record.id, spec)
    if (!owned) throw new SandboxFault(`The sandbox of run ${spec.run_id} was taken while it was made`)
    return this.#open(owned, spec)
  }

  async attach(spec: SandboxSpec): Promise<Sandbox | null> {
    requireEgress(this, spec)
    const [latest] = (await this.#records.ofRun(spec.run_id)).filter((record) => !record.removed)
    if (!latest) return null
    const owned = await this.#takeOver(latest.id, spec)
    if (!owned) return null
    await this.#killProcesses(latest)
    if (latest.details.group && latest.attempt < spec.attempt) removeControlGroup(latest.details.group)
    return this.#open(owned, spec)
  }

  async list(): Promise<SandboxInfo[]> {
    return (await this.#records.list())
      .filter((record) => record.details.installation_id === this.#installation_id)
      .map((record) => ({ ref: this.#refOf(record), created_at: record.created_at }))
  }

  async freeze(ref: SandboxRef): Promise<void> {
    const record = await this.#current(ref)
    if (!record) return
    if (record.details.group) return freezeControlGroup(record.details.group)
    await writeFile(this.#frozenFile(record.id), '')
    await signalTree(this.#isProcessOf(record.id), 'SIGSTOP')
  }

  async thaw(ref: SandboxRef): Promise<void> {
    const record = await this.#current(ref)
    if (!record) return
    if (record.details.group) return thawControlGroup(record.details.group)
    await signalTree(this.#isProcessOf(record.id), 'SIGCONT')
    await rm(this.#frozenFile(record.id), { force: true })
  }

  async kill(ref: SandboxRef): Promise<void> {
    const record = await this.#current(ref)
    if (record) await this.#killProcesses(record)
  }

  async destroy(ref: SandboxRef): Promise<void> {
    const record = await this.#records.update(ref.id, (current) =>
      current.attempt > ref.attempt ? null : { ...current, removed: true },
    )
    if (!record) return
    await this.#killProcesses(record)
    if (record.details.group) removeControlGroup(record.details.group)
    await this.#records.remove(record.id)
    if (record.details.uid !== null) await rm(this.#uidFile(record.details.uid), { force: true })
  }

  /** Makes `spec.attempt` the owner, with a control group into which earlier owners cannot start anything. */
  async #takeOver(id: string, spec: SandboxSpec): Promise<SandboxRecord<Details> | null> {
    const group =
      this.#groups &&
      makeControlGroup(this.#groups, `runyard-${this.#place}-${id}-${spec.attempt}`, spec.limits)
    const owned = await this.#records.update(id, (current) =>
      current.removed || current.attempt > spec.attempt
        ? null
        : { ...current, attempt: spec.attempt, details: { ...current.details, group } },
    )
    if (!owned && group) removeControlGroup(group)
    return owned
  }

  #open(record: SandboxRecord<Details>, spec: SandboxSpec): Sandbox {
    const ref = this.#refOf(record)
    const exec = (options: ExecOptions, env: Record<string, string>): ExecHandle =>
      superviseExec(options, () => this.#start(record, spec, options, env))
    return {
      ref,
      workspace: '/workspace',
      exec: (options) => exec(options, { ...spec.env, ...options.env }),
      ...makeFileOperations((options) => exec(options, {}), { import_bytes: spec.limits.disk_bytes }),
      killAll: () => this.kill(ref),
      destroy: () => this.destroy(ref),
    }
  }

  async #start(
    record: SandboxRecord<Details>,
    spec: SandboxSpec,
    options: ExecOptions,
    env: Record<string, string>,
  ): Promise<RunningCommand> {
    const { uid, group } = record.details
    const command: BubblewrapCommand = {
      places: this.#places(record.id),
      marker: this.#marker(record.id),
      uid,
      join_files: group ? joinFiles(group) : [],
      frozen_file: this.#frozenFile(record.id),
      successor_file: this.#records.successorFile(record),
      limits: spec.limits,
      weak_limits: !limitsHold(group),
      egress: spec.egress,
      cwd: options.cwd ?? '/workspace',
      env,
      command: options.command,
    }
    const directory = this.#records.directory(record.id)
    const streams = await openStandardStreams(directory, uid, options.stdin).catch((error) => {
      throw new SandboxFault(`The sandbox cannot be used: ${error.message}`)
    })
    const seccomp = openSync(join(this.#common, 'seccomp.bpf'), 'r')
    try {
      const child = spawnOn(streams, makeLaunch(this.#host, command), { env: {}, cwd: '/' }, [
        'pipe',
        'pipe',
        'pipe',
        seccomp,
      ])
      return superviseBwrap(
        child,
        streams,
        makeArguments(this.#host, command),
        makeScript(this.#host, command),
      )
    } finally {
      closeSync(seccomp)
    }
  }

  async #killProcesses(record: SandboxRecord<Details>): Promise<void> {
    if (record.details.group) await killControlGroup(record.details.group)
    else {
      await signalTree(this.#isProcessOf(record.id), 'SIGKILL')
      await rm(this.#frozenFile(record.id), { force: true })
    }
  }

  /** The record, unless a later attempt owns the sandbox: its processes are none of the caller's. */
  async #current(ref: SandboxRef): Promise<SandboxRecord<Details> | null> {
    const record = await this.#records.read(ref.id)
    return record && record.attempt <= ref.attempt ? record : null
  }

  async #allocateUid(): Promise<number> {
    for (;;) {
      const uid = FIRST_UID + randomInt(UIDS)
      try {
        await writeFile(this.#uidFile(uid), '', { flag: 'wx' })
        return uid
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
      }
    }
  }

  #isProcessOf(id: string): (pid: number) => boolean {
    const marker = markerArguments(this.#marker(id))
    return (pid) => {
      const [, ...args] = readArguments(pid)
      return marker.every((word, index) => args[index] === word)
    }
  }

  #refOf({ id, run_id, attempt }: SandboxRecord<Details>): SandboxRef {
    return { backend: this.name, id, run_id, attempt }
  }

  #places(id: string): BubblewrapCommand['places'] {
    const directory = this.#records.directory(id)
    return {
      workspace: join(directory, 'workspace'),
      home: join(directory, 'home'),
      tmp: join(directory, 'tmp'),
      common: this.#common,
    }
  }

  get #common(): string {
    return join(this.#records.root, 'common')
  }

  #marker(id: string): string {
    return `${this.#place}-${id}`
  }

  #frozenFile(id: string): string {
    return join(this.#records.directory(id), 'frozen')
  }

  #uidFile(uid: number): string {
    return join(this.#records.root, 'uids', String(uid))
  }
}

/** Feeds a starting `bwrap` and reads how its command ended. */
function superviseBwrap(
  child: ChildProcess,
  { stdout, stderr }: StandardStreams,
  args: Buffer,
  script: string,
): RunningCommand {
  const send = (descriptor: number, data: Buffer | string) => {
    const pipe = pipeOf(child, descriptor)
    // It ended before it read everything; how it ended says why.
    pipe.on('error', () => {})
    pipe.end(data)
  }
  send(DESCRIPTORS.arguments, args)
  send(DESCRIPTORS.command, script)
  let message = ''
  const status = text(pipeOf(child, DESCRIPTORS.status)).catch(() => '')
  stderr.on('data', (data: Buffer) => {
    if (message.length < MESSAGE_BYTES) message += data
  })

  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve, reject) => {
    child.once('error', (error) => reject(new SandboxFault(`bubblewrap did not start: ${error.message}`)))
    child.once('exit', async (code, signal) => {
      const said = /"exit-code": (\d+)/.exec(await status)
      if (signal) resolve({ code: null, signal })
      else if (said) resolve(exitOfShell(Number(said[1])))
      else reject(new SandboxFault(`bubblewrap could not run the command (exit ${code}): ${message.trim()}`))
    })
  })
  return {
    stdin: child.stdin,
    stdout,
    stderr,
    ended,
    // One process is enough: bwrap's process 1 dies with it, and with process 1 everything in its namespace.
    kill: async () => void child.kill('SIGKILL'),
  }
}

function pipeOf(child: ChildProcess, descriptor: number): Duplex {
  const pipe = child.stdio.at(descriptor)
  if (!(pipe instanceof Duplex))
    throw new SandboxFault(`bubblewrap was started without descriptor ${descriptor}`)
  return pipe
}

async function inspectHost(root_directory: string): Promise<BubblewrapHost> {
  if (process.platform !== 'linux') throw new SandboxFault('bubblewrap runs on Linux only')
  const bwrap = findProgram('bwrap')
  if (!bwrap) throw new SandboxFault('bubblewrap is not installed')
  const version = (await run(bwrap, ['--version'])).stdout.trim()
  const [major = 0, minor = 0] = version.split(' ').at(-1)?.split('.').map(Number) ?? []
  const [oldest_major, oldest_minor] = OLDEST_BWRAP
  if (major < oldest_major || (major === oldest_major && minor < oldest_minor))
    throw new SandboxFault(`${version} is too old: ${OLDEST_BWRAP.join('.')} or later is needed`)
  const root = process.getuid?.() === 0
  const setpriv = findProgram('setpriv')
  const unshare = findProgram('unshare')
  if (root && !(setpriv && unshare)) throw new SandboxFault('util-linux is not installed')
  const node = process.execPath
  const shell = existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh'
  return {
    bwrap,
    setpriv: setpriv ?? '',
    unshare: unshare ?? '',
    shell,
    node,
    root,
    staging: planStaging(root ? [root_directory, node, npmOf(node)] : []),
    inherited: shell.endsWith('bash') ? inheritedDescriptors() : [],
  }
}

/** Descriptors this process was started with and its children would inherit; Node's own are closed on exec. */
function inheritedDescriptors(): number[] {
  const CLOSE_ON_EXEC = 0o2000000
  return readdirSync('/proc/self/fdinfo')
    .map(Number)
    .filter((descriptor) => {
      if (descriptor <= Math.max(...Object.values(DESCRIPTORS))) return false // Replaced at the start.
      try {
        const info = readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8')
        return (Number.parseInt(/flags:\s*(\d+)/.exec(info)?.[1] ?? '0', 8) & CLOSE_ON_EXEC) === 0
      } catch {
        return false // The descriptor that read the directory.
      }
    })
}
