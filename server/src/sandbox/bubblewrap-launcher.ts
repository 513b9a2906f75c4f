import { closeSync, existsSync, openSync } from 'node:fs'
import { join } from 'node:path'
import {
  type BubblewrapCommand,
  makeArguments,
  makeLaunch,
  makePreparation,
  makeScript,
} from './bubblewrap-command.ts'
import type { BubblewrapFiles } from './bubblewrap-files.ts'
import type { BubblewrapHost } from './bubblewrap-host.ts'
import { type Hold, type RunningBwrap, startBwrap } from './bubblewrap-process.ts'
import { makeSlot, makeSlotScript } from './bubblewrap-slot.ts'
import { type ControlGroup, isFrozenControlGroup, joinFiles, limitsHold } from './control-group.ts'
import type { ExecSlot } from './exec-slot.ts'
import type { ExecOptions, SandboxKind, SandboxSpec, WarmSpec } from './sandbox.ts'
import type { Uplink } from './sandbox-network.ts'
import type { SandboxRecord, SandboxRecords } from './sandbox-records.ts'
import { openStandardStreams } from './standard-streams.ts'
import { openUplink } from './uplink.ts'

/** What is written down of a sandbox. */
export interface BubblewrapDetails {
  installation_id: string
  uid: number | null
  /** The owner's; no process of an earlier attempt can start in it. */
  group: ControlGroup | null
  /** Those of earlier owners. The next owner ends them, and the one after that, should that one have died over it. */
  former_groups: ControlGroup[]
}

export type BubblewrapRecord = SandboxRecord<BubblewrapDetails>

/** Whose the sandbox is, perhaps nobody's yet, and what its commands are to have. */
export interface Owner {
  record: BubblewrapRecord
  spec: WarmSpec
}

/** Starts the processes of sandboxes. */
export class BubblewrapLauncher {
  readonly #host: BubblewrapHost
  readonly #records: SandboxRecords<BubblewrapDetails>
  readonly #filesOf: (id: string) => BubblewrapFiles

  constructor(
    host: BubblewrapHost,
    records: SandboxRecords<BubblewrapDetails>,
    filesOf: (id: string) => BubblewrapFiles,
  ) {
    this.#host = host
    this.#records = records
    this.#filesOf = filesOf
  }

  /** One command, in a `bwrap` of its own. */
  async startAlone(
    record: BubblewrapRecord,
    spec: SandboxSpec,
    { command, cwd = '/workspace', stdin }: ExecOptions,
    env: Record<string, string>,
  ): Promise<RunningBwrap> {
    return this.#start(record, spec, {
      ...{ env, stdin, shell: this.#host.shell },
      makeScript: (preparation) => makeScript(preparation, cwd, command),
      hold: async (pid) => {
        const first = this.#filesOf(record.id).first_processes.remember(pid, record.attempt)
        const uplink = await this.#connect(record, spec, pid)
        return {
          kill: () => first?.kill(),
          release: () => {
            uplink?.close()
            first?.forget()
          },
        }
      },
    })
  }

  async startSlot({ record, spec }: Owner, onFree: (slot: ExecSlot) => void): Promise<ExecSlot> {
    const own_network = spec.egress !== 'open' || this.#host.network
    const listening = own_network ? Number(spec.egress === 'allowlist') : null
    const running = await this.#start(record, spec, {
      ...{ env: {}, stdin: null, shell: '/bin/sh' },
      makeScript: (preparation) => makeSlotScript(this.#host.shell, preparation, listening),
      hold: async (pid) => {
        const first = this.#filesOf(record.id).first_processes.remember(pid, record.attempt)
        return { kill: () => first?.kill(), release: () => first?.forget() }
      },
    })
    // How it ended is asked for separately.
    running.ended.catch(() => {})
    try {
      const pid = await running.first_pid
      const uplink = pid === null ? null : await this.#connect(record, spec, pid)
      const close = () => uplink?.close()
      running.ended.then(close, close)
      const { group } = record.details
      return makeSlot(running, {
        isFrozen: async () =>
          group ? isFrozenControlGroup(group) : existsSync(this.#filesOf(record.id).frozen_file),
        isSound: () => uplink?.is_open ?? true,
        onFree,
      })
    } catch (error) {
      await running.kill(true)
      throw error
    }
  }

  async #start(
    record: BubblewrapRecord,
    spec: SandboxKind,
    given: {
      env: Record<string, string>
      stdin: ExecOptions['stdin'] | null
      shell: string
      makeScript: (preparation: string) => string
      /** Gets what must be there before it may begin: somebody who can kill it, at least. */
      hold: (pid: number) => Promise<Hold>
    },
  ): Promise<RunningBwrap> {
    const { uid, group } = record.details
    const files = this.#filesOf(record.id)
    const command: BubblewrapCommand = {
      places: files.places,
      uid,
      join_files: group ? joinFiles(group) : [],
      frozen_file: files.frozen_file,
      successor_file: this.#records.successorFile(record),
      limits: spec.limits,
      weak_limits: !limitsHold(group),
      egress: spec.egress,
      env: given.env,
      shell: given.shell,
    }
    const streams = await openStandardStreams(files.directory, uid, given.stdin)
    const seccomp = openSync(join(files.places.common, 'seccomp.bpf'), 'r')
    try {
      return await startBwrap(makeLaunch(this.#host, command), streams, {
        args: makeArguments(this.#host, command),
        script: given.makeScript(makePreparation(command)),
        seccomp,
        is_fed: given.stdin !== undefined && streams.stdin === null,
        hold: given.hold,
      })
    } finally {
      closeSync(seccomp)
    }
  }

  #connect(record: BubblewrapRecord, spec: WarmSpec, pid: number): Promise<Uplink | null> {
    const { uid, group } = record.details
    return openUplink(this.#host, spec, pid, { uid, join_files: group ? joinFiles(group) : [] })
  }
}
