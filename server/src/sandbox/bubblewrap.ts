import { createHash, randomInt, randomUUID } from 'node:crypto'
import { closeSync, existsSync, openSync } from 'node:fs'
import { chmod, chown, mkdir, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type BubblewrapCommand, makeArguments, makeLaunch, makeScript } from './bubblewrap-command.ts'
import { type BubblewrapHost, inspectHost } from './bubblewrap-host.ts'
import { type Hold, superviseBwrap } from './bubblewrap-process.ts'
import {
  type ControlGroup,
  type ControlGroupParent,
  findControlGroupParent,
  freezeControlGroup,
  joinFiles,
  killControlGroup,
  limitsHold,
  listControlGroups,
  makeControlGroup,
  membersOf,
  nameOfControlGroup,
  planControlGroup,
  removeControlGroup,
  removeOldProbes,
  thawControlGroup,
} from './control-group.ts'
import { measureDisk } from './disk-usage.ts'
import { isEmptyFolder } from './empty-folder.ts'
import { type RunningCommand, superviseExec } from './exec-handle.ts'
import { makeFileOperations } from './file-operations.ts'
import { FirstProcesses } from './first-processes.ts'
import { findTree, signalTree } from './process-tree.ts'
import { PROXY_ENV } from './proxy-uplink.ts'
import {
  DEFAULT_LIMITS,
  type DiskUsage,
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
  toFault,
} from './sandbox.ts'
import { NAME_SERVER } from './sandbox-network.ts'
import { type SandboxRecord, SandboxRecords } from './sandbox-records.ts'
import { makeSeccompFilter } from './seccomp-filter.ts'
import { openStandardStreams, spawnOn } from './standard-streams.ts'
import { openUplink } from './uplink.ts'

/** Users of sandboxes come from here: far from accounts and from the ranges of `/etc/subuid`. */
const FIRST_UID = 0x60000000
const UIDS = 0x10000000

interface Details {
  installation_id: string
  uid: number | null
  /** The owner's; no process of an earlier attempt can start in it. */
  group: ControlGroup | null
  /** Those of earlier owners. The next owner ends them, and the one after that, should that one have died over it. */
  former_groups: ControlGroup[]
}

/**
 * Opens the bubblewrap backend with its sandboxes below `<data_dir>/sandboxes/bubblewrap`. Started by root each sandbox gets a user
 * and a control group of its own; by anybody else all run as that user. Throws when this machine cannot run it, saying
 * what is missing. `trial: false` is for who only freezes and kills: no command is tried.
 */
export async function openBubblewrap(options: {
  data_dir: string
  installation_id: string
  trial?: boolean
}): Promise<SandboxBackend> {
  const root = resolve(options.data_dir, 'sandboxes', 'bubblewrap')
  await mkdir(root, { recursive: true })
  const records = new SandboxRecords<Details>(await realpath(root))
  await records.open()
  const host = await inspectHost(records.root)
  const place = `bubblewrap:${await records.readPlace()}`
  const backend = new Bubblewrap(host, records, place, options.installation_id)
  if (options.trial !== false) await backend.prepare()
  return backend
}

class Bubblewrap implements SandboxBackend {
  readonly name = 'bubblewrap'
  readonly capabilities: SandboxCapabilities
  readonly description: string
  readonly place: string
  readonly storage: string
  readonly #host: BubblewrapHost
  readonly #records: SandboxRecords<Details>
  readonly #installation_id: string
  readonly #groups: ControlGroupParent | null = findControlGroupParent()
  /** What names of this place's control groups begin with; two containers may see their directories at one path. */
  readonly #prefix: string

  constructor(
    host: BubblewrapHost,
    records: SandboxRecords<Details>,
    place: string,
    installation_id: string,
  ) {
    this.place = place
    this.#host = host
    this.#records = records
    this.storage = records.root
    this.#installation_id = installation_id
    const tag = createHash('sha256').update(`${place} ${records.root}`).digest('hex').slice(0, 12)
    this.#prefix = `runyard-${tag}-`
    const limits = limitsHold(this.#groups) ? 'hard' : 'weak'
    this.capabilities = {
      isolation: 'namespace',
      pause: true,
      limits,
      disk_quota: false,
      egress: host.proxy ? ['none', 'allowlist', 'open'] : ['none', 'open'],
      background_processes: false,
    }
    this.description = [
      'bubblewrap: Linux namespaces and a system call filter on the host’s own kernel and system files',
      host.root ? 'a user per sandbox' : 'all sandboxes share the service’s user',
      limits === 'hard'
        ? 'memory and processes limited by control groups'
        : 'weak limits: no writable control groups, so memory is limited by process only',
      host.proxy
        ? 'allowed hosts only by a proxy'
        : 'no lists of allowed hosts (install socat and util-linux)',
      host.network
        ? 'open egress by a network of its own, without the machine’s loopback'
        : 'open egress shares the machine’s network, its local services and abstract sockets included (install slirp4netns and open /dev/net/tun to avoid that)',
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
      'resolv.conf': `nameserver ${NAME_SERVER}\n`,
      'seccomp.bpf': filter,
    }
    for (const [name, content] of Object.entries(files)) {
      // Renamed into place: another process may be starting a command with the old one right now.
      const draft = join(common, `${name}-${randomUUID()}`)
      await writeFile(draft, content)
      await chmod(draft, 0o644)
      await rename(draft, join(common, name))
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
      former_groups: [],
    })
    if (!record) throw new SandboxFault(`Attempt ${spec.attempt} of run ${spec.run_id} already has a sandbox`)
    try {
      const places = this.#places(record.id)
      const folders = (spec.folders ?? []).map((name) => join(places.workspace, name))
      for (const path of [places.workspace, places.home, places.tmp, ...folders]) {
        await mkdir(path, { mode: 0o700 })
        if (uid !== null) await chown(path, uid, uid)
      }
      // Only its own user passes, so other users of the host cannot look in.
      const directory = this.#records.directory(record.id)
      if (uid !== null) await chown(directory, 0, uid)
      await chmod(directory, 0o710)
      const owned = await this.#takeOver(record.id, spec)
      if (!owned) throw new SandboxFault(`The sandbox of run ${spec.run_id} was taken while it was made`)
      return this.#open(owned, spec)
    } catch (error) {
      await this.destroy(this.#refOf(record)).catch(() => {})
      throw toFault(error)
    }
  }

  async attach(spec: SandboxSpec): Promise<Sandbox | null> {
    requireEgress(this, spec)
    const [latest] = (await this.#records.ofRun(spec.run_id)).filter((record) => !record.removed)
    if (!latest) return null
    try {
      const owned = await this.#takeOver(latest.id, spec)
      return owned && this.#open(owned, spec)
    } catch (error) {
      throw toFault(error)
    }
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
    await this.#signal(record, 'SIGSTOP')
  }

  async thaw(ref: SandboxRef): Promise<void> {
    const record = await this.#current(ref)
    if (!record) return
    if (record.details.group) return thawControlGroup(record.details.group)
    await this.#signal(record, 'SIGCONT')
    await rm(this.#frozenFile(record.id), { force: true })
  }

  async kill(ref: SandboxRef): Promise<void> {
    const record = await this.#current(ref)
    if (record) await this.#killProcesses(record)
  }

  async release(ref: SandboxRef): Promise<void> {
    const record = await this.#current(ref)
    if (!record) return
    await this.#killProcesses(record)
    if (record.details.group) removeControlGroup(record.details.group)
  }

  async removeLeftovers(): Promise<number> {
    if (!this.#groups) return 0
    removeOldProbes(this.#groups)
    // Listed first, records read second: a group is named by its record before it is made.
    const found = listControlGroups(this.#groups, this.#prefix)
    const named = new Set(
      (await this.#records.list())
        .flatMap(({ details }) => [...details.former_groups, ...(details.group ? [details.group] : [])])
        .map(nameOfControlGroup),
    )
    const left = found.filter((group) => !named.has(nameOfControlGroup(group)))
    for (const group of left) {
      await killControlGroup(group)
      removeControlGroup(group)
    }
    return left.length
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

  /**
   * Makes `spec.attempt` the owner, with a control group into which earlier owners cannot start anything, and kills
   * what the owner before left running.
   */
  async #takeOver(id: string, spec: SandboxSpec): Promise<SandboxRecord<Details> | null> {
    const group = this.#groups && planControlGroup(this.#groups, `${this.#prefix}${id}-${spec.attempt}`)
    const owned = await this.#records.update(id, (current) => {
      if (current.removed || current.attempt > spec.attempt) return null
      const { details } = current
      const former = details.group && current.attempt < spec.attempt ? [details.group] : []
      const former_groups = [...details.former_groups, ...former]
      return { ...current, attempt: spec.attempt, details: { ...details, group, former_groups } }
    })
    if (!owned) return null
    // Made when the record names it: what no record names is nobody's, and is removed.
    if (group) makeControlGroup(group, spec.limits)
    if (existsSync(this.#records.successorFile(owned))) {
      // Taken or removed meanwhile, perhaps before there was a group to remove.
      if (group) removeControlGroup(group)
      return null
    }
    this.#firstProcesses(owned.id).open()
    await this.#killProcesses(owned)
    return owned
  }

  #open(record: SandboxRecord<Details>, spec: SandboxSpec): Sandbox {
    const ref = this.#refOf(record)
    const exec = (options: ExecOptions, env: Record<string, string>): ExecHandle =>
      superviseExec(options, () => this.#start(record, spec, options, env))
    return {
      ref,
      workspace: '/workspace',
      exec: (options) => exec(options, { ...(spec.proxy ? PROXY_ENV : {}), ...spec.env, ...options.env }),
      ...makeFileOperations((options) => exec(options, {}), { import_bytes: spec.limits.disk_bytes }),
      isEmpty: (folder) => isEmptyFolder(join(this.#places(record.id).workspace, folder)),
      usage: (signal) => this.#usage(record, signal),
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
    const streams = await openStandardStreams(directory, uid, options.stdin)
    const seccomp = openSync(join(this.#common, 'seccomp.bpf'), 'r')
    try {
      // A session of its own: a terminal's Ctrl-C and a signal to the service's process group are for the service alone.
      const child = spawnOn(streams, makeLaunch(this.#host, command), { env: {}, cwd: '/', detached: true }, [
        'pipe',
        'pipe',
        'pipe',
        seccomp,
      ])
      return superviseBwrap(child, streams, {
        args: makeArguments(this.#host, command),
        script: makeScript(this.#host, command),
        hold: (pid) => this.#hold(record, spec, pid),
      })
    } finally {
      closeSync(seccomp)
    }
  }

  /** What a command needs from outside before it may begin: somebody who can kill it, and its network. */
  async #hold(record: SandboxRecord<Details>, spec: SandboxSpec, pid: number): Promise<Hold> {
    const first = this.#firstProcesses(record.id).remember(pid, record.attempt)
    const { uid, group } = record.details
    const join_files = group ? joinFiles(group) : []
    const uplink = await openUplink(this.#host, spec, pid, { uid, join_files })
    return {
      kill: () => first?.kill(),
      release: () => {
        uplink?.close()
        first?.forget()
      },
    }
  }

  async #usage(record: SandboxRecord<Details>, signal?: AbortSignal): Promise<DiskUsage> {
    const { workspace, home, tmp } = this.#places(record.id)
    const { group } = record.details
    return measureDisk({
      directories: [workspace, home, tmp],
      pids: group ? membersOf(group) : findTree(this.#rootsOf(record)),
      ...(this.#host.root ? {} : { bwrap: this.#host.bwrap }),
      ...(signal ? { signal } : {}),
    })
  }

  /** Ends the processes of the record's owner and of all before it. */
  async #killProcesses(record: SandboxRecord<Details>): Promise<void> {
    const { group, former_groups } = record.details
    for (const former of former_groups) {
      await killControlGroup(former)
      removeControlGroup(former)
    }
    if (group) await killControlGroup(group)
    else {
      await this.#signal(record, 'SIGKILL')
      await rm(this.#frozenFile(record.id), { force: true })
    }
  }

  /** Where there is no control group: everything in the namespaces of the record's owner and of those before it. */
  async #signal(record: SandboxRecord<Details>, signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): Promise<void> {
    await signalTree(this.#rootsOf(record), signal)
  }

  /** Of what the record's owner and those before it run. */
  #rootsOf(record: SandboxRecord<Details>): (pid: number) => boolean {
    const roots = new Set(this.#firstProcesses(record.id).living(record.attempt))
    return (pid) => roots.has(pid)
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

  #firstProcesses(id: string): FirstProcesses {
    return new FirstProcesses(join(this.#records.directory(id), 'first-processes'))
  }

  #frozenFile(id: string): string {
    return join(this.#records.directory(id), 'frozen')
  }

  #uidFile(uid: number): string {
    return join(this.#records.root, 'uids', String(uid))
  }
}
