import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdir, realpath, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { allOf } from './all-of.ts'
import { authorityVariables } from './authorities.ts'
import { programFolders } from './bubblewrap-command.ts'
import { BubblewrapFiles } from './bubblewrap-files.ts'
import { type BubblewrapHost, inspectHost } from './bubblewrap-host.ts'
import {
  type BubblewrapDetails,
  BubblewrapLauncher,
  type BubblewrapRecord,
  type Owner,
} from './bubblewrap-launcher.ts'
import { BubblewrapShared } from './bubblewrap-shared.ts'
import {
  type ControlGroup,
  type ControlGroupParent,
  countMemoryKills,
  findControlGroupParent,
  freezeControlGroup,
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
import { holdsOnlyEmpty, isEmptyFolder } from './empty-folder.ts'
import { superviseExec } from './exec-handle.ts'
import { ExecSlots } from './exec-slots.ts'
import { makeFileOperations } from './file-operations.ts'
import { limitVariables, MemoryKills } from './memory-kills.ts'
import { removeOldPipes } from './pipes.ts'
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
  type SandboxKind,
  type SandboxRef,
  type SandboxSpec,
  toFault,
  type WarmSandbox,
  type WarmSpec,
  type Weakness,
} from './sandbox.ts'
import { SandboxRecords } from './sandbox-records.ts'

const NO_GROUPS = (is_root: boolean): Weakness => ({
  says: 'no writable control groups, so memory is limited by process only',
  fix: is_root
    ? 'Make /sys/fs/cgroup writable for the service; in a container that takes --privileged or a delegated control group.'
    : 'Start it as root, or accept weak limits with RUNYARD_ALLOW_WEAK_LIMITS=1.',
})
const SHARED_USER: Weakness = {
  says: 'what the kernel counts by user is shared with the service, which a sandbox can stop by using up the epoll watches',
  fix: 'Start workers as root, so that each sandbox gets a user of its own, or use Docker.',
}
const NO_FENCE: Weakness = {
  says: 'open files, pending signals and inotify instances have the limits of the service’s user',
  fix: 'As root: apt-get install -y util-linux && sysctl -w user.max_user_namespaces=15000',
}
/** Slots that wait for commands: each is three processes of the sandbox's, and one for its network. */
const MAX_WAITING = 4
/** Slots that were killed while they started are gone long before. */
const SLOTS_END_MS = 2_000

/**
 * Opens the bubblewrap backend with its sandboxes below `<data_dir>/sandboxes/bubblewrap`. Started by root each sandbox gets a user
 * and a control group of its own; by anybody else all run as that user. Throws when this machine cannot run it, saying
 * what is missing. `trial: false` is for who only freezes and kills: no command is tried.
 */
export async function openBubblewrap(options: {
  data_dir: string
  installation_id: string
  trial?: boolean
  /** Offered to all sandboxes, at `TOOLS_PLACE`. */
  tools_dir?: string
}): Promise<SandboxBackend> {
  const root = resolve(options.data_dir, 'sandboxes', 'bubblewrap')
  await mkdir(root, { recursive: true })
  const records = new SandboxRecords<BubblewrapDetails>(await realpath(root))
  await records.open()
  const host = await inspectHost(records.root, options.tools_dir ?? null)
  const place = `bubblewrap:${await records.readPlace()}`
  const backend = new Bubblewrap(host, records, place, options.installation_id)
  if (options.trial !== false) await backend.prepare()
  return backend
}

class Bubblewrap implements SandboxBackend {
  readonly name = 'bubblewrap'
  readonly capabilities: SandboxCapabilities
  readonly description: string
  readonly weaknesses: readonly Weakness[]
  readonly place: string
  readonly storage: string
  readonly program_folders: readonly string[]
  readonly #host: BubblewrapHost
  readonly #records: SandboxRecords<BubblewrapDetails>
  readonly #shared: BubblewrapShared
  readonly #launcher: BubblewrapLauncher
  readonly #installation_id: string
  readonly #groups: ControlGroupParent | null = findControlGroupParent()
  /** What names of this place's control groups begin with; two containers may see their directories at one path. */
  readonly #prefix: string
  /** Of the sandboxes that were opened here, by their ids. */
  readonly #slots = new Map<string, ExecSlots>()

  constructor(
    host: BubblewrapHost,
    records: SandboxRecords<BubblewrapDetails>,
    place: string,
    installation_id: string,
  ) {
    this.place = place
    this.program_folders = programFolders(host)
    this.#host = host
    this.#records = records
    this.#shared = new BubblewrapShared(records.root)
    this.#launcher = new BubblewrapLauncher(host, records, (id) => this.#filesOf(id))
    this.storage = records.root
    this.#installation_id = installation_id
    const tag = createHash('sha256').update(`${place} ${records.root}`).digest('hex').slice(0, 12)
    this.#prefix = `runyard-${tag}-`
    const holds = limitsHold(this.#groups)
    const limits = holds && host.root ? 'hard' : 'weak'
    this.weaknesses = [
      ...(holds ? [] : [NO_GROUPS(host.root)]),
      ...(host.root ? [] : [SHARED_USER]),
      ...(host.fence ? [] : [NO_FENCE]),
    ]
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
      ...(holds ? ['memory and processes limited by control groups'] : []),
      ...this.weaknesses.map(({ says }) => `${limits} limits: ${says}`),
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
    await this.#shared.prepare(this.#host.shell)
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
    return this.#open(await this.#make(spec), spec)
  }

  async createWarm(run_id: string, made: WarmSpec): Promise<WarmSandbox> {
    requireEgress(this, made)
    const record = await this.#make({ ...made, run_id, attempt: 0 })
    const owner = { record, spec: made }
    const slots = this.#openSlots(owner)
    const ref = this.#refOf(record)
    return {
      ref,
      adopt: async (spec) => {
        requireEgress(this, spec)
        const adopted = await this.#records.update(record.id, (current) =>
          current.removed || current.attempt > 0 ? null : { ...current, attempt: spec.attempt },
        )
        if (!adopted) return null
        owner.record = adopted
        return this.#present(adopted, spec, slots)
      },
      destroy: () => this.destroy(ref),
    }
  }

  /** A new sandbox; nothing of it is left where that fails. */
  async #make(spec: SandboxKind & Pick<SandboxSpec, 'run_id' | 'attempt'>): Promise<BubblewrapRecord> {
    const uid = this.#host.root ? await this.#shared.takeUser() : null
    const record = await this.#records.create(spec.run_id, spec.attempt, {
      installation_id: this.#installation_id,
      uid,
      group: null,
      former_groups: [],
    })
    if (!record) throw new SandboxFault(`Attempt ${spec.attempt} of run ${spec.run_id} already has a sandbox`)
    try {
      const places = this.#filesOf(record.id).places
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
      return owned
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
    await writeFile(this.#filesOf(record.id).frozen_file, '')
    await this.#signal(record, 'SIGSTOP')
  }

  async thaw(ref: SandboxRef): Promise<void> {
    const record = await this.#current(ref)
    if (!record) return
    if (record.details.group) return thawControlGroup(record.details.group)
    await this.#signal(record, 'SIGCONT')
    await rm(this.#filesOf(record.id).frozen_file, { force: true })
  }

  async kill(ref: SandboxRef): Promise<void> {
    const record = await this.#current(ref)
    if (record) await this.#killProcesses(record)
  }

  async release(ref: SandboxRef): Promise<void> {
    const record = await this.#current(ref)
    if (!record) return
    await this.#endProcesses(record)
    if (record.details.group) removeControlGroup(record.details.group)
  }

  async removeLeftovers(): Promise<number> {
    // Listed first, records read second: a user is taken before its record is made.
    const users = await this.#shared.listUsers()
    const records = await this.#records.list()
    const taken = new Set(records.map(({ details }) => details.uid))
    const unused = users.filter((uid) => !taken.has(uid))
    const files =
      (await removeOldPipes()) +
      (await this.#records.removeLeftovers()) +
      (await this.#shared.removeLeftovers(unused))
    if (!this.#groups) return files
    removeOldProbes(this.#groups)
    // Listed first, records read second: a group is named by its record before it is made.
    const found = listControlGroups(this.#groups, this.#prefix)
    const named = new Set(
      (await this.#records.list())
        .flatMap(({ details }) => [...details.former_groups, ...(details.group ? [details.group] : [])])
        .map(nameOfControlGroup),
    )
    const left = found.filter((group) => !named.has(nameOfControlGroup(group)))
    // One that cannot be ended now is found again, and the others need not wait for it.
    await allOf(
      left.map(async (group) => {
        await killControlGroup(group)
        removeControlGroup(group)
      }),
    )
    return left.length + files
  }

  async destroy(ref: SandboxRef): Promise<void> {
    const record = await this.#records.update(ref.id, (current) =>
      current.attempt > ref.attempt ? null : { ...current, removed: true },
    )
    if (!record) return
    await this.#endProcesses(record)
    if (record.details.group) removeControlGroup(record.details.group)
    await this.#records.remove(record.id)
    if (record.details.uid !== null) await this.#shared.giveBack(record.details.uid)
  }

  /**
   * Makes `spec.attempt` the owner, with a control group into which earlier owners cannot start anything, and kills
   * what the owner before left running.
   */
  async #takeOver(
    id: string,
    spec: Pick<SandboxSpec, 'attempt' | 'limits'>,
  ): Promise<BubblewrapRecord | null> {
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
    this.#filesOf(owned.id).first_processes.open()
    await this.#endProcesses(owned)
    return owned
  }

  #open(record: BubblewrapRecord, spec: SandboxSpec): Sandbox {
    return this.#present(record, spec, this.#openSlots({ record, spec }))
  }

  /** One gets ready while others do what else there is to do. */
  #openSlots(owner: Owner): ExecSlots {
    const slots = new ExecSlots({ max_waiting: MAX_WAITING, refills: false }, (onFree) =>
      this.#launcher.startSlot(owner, onFree),
    )
    this.#slots.set(owner.record.id, slots)
    void slots.prepare()
    return slots
  }

  #present(record: BubblewrapRecord, spec: SandboxSpec, slots: ExecSlots): Sandbox {
    const ref = this.#refOf(record)
    const exec = (options: ExecOptions, env: Record<string, string>): ExecHandle => {
      const { command: script, cwd: directory = '/workspace', stdin } = options
      const alone = () => this.#launcher.startAlone(record, spec, options, env)
      // Input that is known beforehand is a file, which a slot's is not.
      return superviseExec(options, (given_up) =>
        stdin === undefined ? slots.run({ script, directory, env, once: false }, alone, given_up) : alone(),
      )
    }
    const { group } = record.details
    const kills = group && limitsHold(group) ? countKills(group) : null
    const { disk_bytes } = spec.limits
    const limits = kills ? spec.limits : { disk_bytes }
    const variables = {
      ...authorityVariables(this.#host.tools),
      ...(spec.proxy ? PROXY_ENV : {}),
      ...limitVariables(limits),
      ...spec.env,
    }
    return {
      ref,
      workspace: '/workspace',
      home: '/home/agent',
      limits,
      exec: (options) => exec(options, { ...variables, ...options.env }),
      ...makeFileOperations((options) => exec(options, {}), { import_bytes: disk_bytes }),
      ...(kills ? { takeMemoryKills: () => kills.take() } : {}),
      isEmpty: (folder) => isEmptyFolder(join(this.#filesOf(record.id).places.workspace, folder)),
      isUntouched: async () => {
        const { workspace, home } = this.#filesOf(record.id).places
        return (await isEmptyFolder(home)) && holdsOnlyEmpty(workspace, spec.folders ?? [])
      },
      hold: () => {
        // Those that wait for a command would stand still as well.
        slots.discard()
        return this.#stopProcesses(record)
      },
      usage: (signal) => this.#usage(record, signal),
      killAll: () => this.kill(ref),
      destroy: () => this.destroy(ref),
    }
  }

  async #usage(record: BubblewrapRecord, signal?: AbortSignal): Promise<DiskUsage> {
    const { workspace, home, tmp } = this.#filesOf(record.id).places
    const { group } = record.details
    return measureDisk({
      directories: [workspace, home, tmp],
      pids: group ? membersOf(group) : findTree(this.#rootsOf(record)),
      ...(this.#host.root ? {} : { bwrap: this.#host.bwrap }),
      ...(signal ? { signal } : {}),
    })
  }

  /** Ends the processes of the record's owner and of all before it, for good: none is being started any more. */
  async #endProcesses(record: BubblewrapRecord): Promise<void> {
    const slots = this.#slots.get(record.id)
    slots?.close()
    await this.#killProcesses(record)
    // Slots without a command do not keep the service from its end; this does.
    const over = new AbortController()
    const late = wait(SLOTS_END_MS, true, { signal: over.signal }).catch(() => true)
    const missed = slots && (await Promise.race([slots.ended(), late]))
    over.abort()
    // One that was just being started may have joined behind the kill.
    if (missed) await this.#killProcesses(record)
    this.#slots.delete(record.id)
    for (const former of record.details.former_groups) removeControlGroup(former)
  }

  async #killProcesses(record: BubblewrapRecord): Promise<void> {
    const { group, former_groups } = record.details
    this.#slots.get(record.id)?.discard()
    await allOf([...former_groups, ...(group ? [group] : [])].map(killControlGroup))
    if (!group) {
      await this.#signal(record, 'SIGKILL')
      await rm(this.#filesOf(record.id).frozen_file, { force: true })
    }
  }

  /** Where there is no control group: everything in the namespaces of the record's owner and of those before it. */
  async #signal(record: BubblewrapRecord, signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): Promise<void> {
    await signalTree(this.#rootsOf(record), signal)
  }

  /** By signals, since nothing could be started in a group that is frozen. */
  async #stopProcesses(record: BubblewrapRecord): Promise<() => Promise<void>> {
    await this.#signal(record, 'SIGSTOP')
    return async () => {
      await this.#signal(record, 'SIGCONT')
      // What the warden stopped meanwhile stays so.
      if (existsSync(this.#filesOf(record.id).frozen_file)) await this.#signal(record, 'SIGSTOP')
    }
  }

  /** Of what the record's owner and those before it run. */
  #rootsOf(record: BubblewrapRecord): (pid: number) => boolean {
    const roots = new Set(this.#filesOf(record.id).first_processes.living(record.attempt))
    return (pid) => roots.has(pid)
  }

  /** The record, unless a later attempt owns the sandbox: its processes are none of the caller's. */
  async #current(ref: SandboxRef): Promise<BubblewrapRecord | null> {
    const record = await this.#records.read(ref.id)
    return record && record.attempt <= ref.attempt ? record : null
  }

  #refOf({ id, run_id, attempt }: BubblewrapRecord): SandboxRef {
    return { backend: this.name, id, run_id, attempt }
  }

  #filesOf(id: string): BubblewrapFiles {
    return new BubblewrapFiles(this.#records.directory(id), this.#shared.files)
  }
}

/** What was killed for an owner before is not told again. */
const countKills = (group: ControlGroup): MemoryKills =>
  new MemoryKills(async () => countMemoryKills(group), countMemoryKills(group) ?? 0)
