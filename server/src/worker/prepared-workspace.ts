/** What the setup commands of an environment left, for runs that would run them on the same. */
import { createHash, randomUUID } from 'node:crypto'
import { ArchiveTooLarge } from '../archives/archive-check.ts'
import { BlobsUnavailable, discardBlob } from '../blobs/blobs.ts'
import { type Sandbox, SandboxFault } from '../sandbox/sandbox.ts'
import type { EnvironmentRow } from '../store/environments.ts'
import type { Commits } from '../store/sandboxes.ts'
import type { WorkerContext } from './context.ts'
import type { FencedStore } from './fenced-store.ts'
import { SetupFailed, type SetupSteps } from './setup-step.ts'
import { limitsOfArchive, packWorkspace, UnusableArchive, unpackWorkspace } from './workspace-archive.ts'
import type { WorkspacePlan } from './workspace-plan.ts'

/** Changes with what is kept, and how. */
const FORMAT = 2
/** Commands that take less than this together are run again. */
const WORTH_MS = 2_000
const PACK_LIMIT_MS = 120_000
const MARK = 'RUNYARD_SETUP'

export interface PreparedOptions {
  context: Pick<WorkerContext, 'backend' | 'plane' | 'log' | 'settings'>
  store: FencedStore
  environment: EnvironmentRow
  plan: WorkspacePlan
  sandbox: Sandbox
  commits: Commits
  steps: SetupSteps
  signal: AbortSignal
}

/** The workspace that one run's setup commands make, or would make. */
export class PreparedWorkspace {
  readonly #options: PreparedOptions
  readonly #key: string
  readonly #mark = randomUUID()

  private constructor(options: PreparedOptions) {
    this.#options = options
    this.#key = keyOf(options)
  }

  /** `null` where setups are not kept. */
  static of(options: PreparedOptions): PreparedWorkspace | null {
    const { setup_commands = [], reuse_setup = true } = options.plan.config
    const { prepared, snapshots } = options.context.settings
    const keeps = prepared.max_bytes > 0 && snapshots.max_bytes > 0
    return keeps && reuse_setup && setup_commands.length > 0 ? new PreparedWorkspace(options) : null
  }

  /** What the setup commands need in their environment, so that what they leave running can be told. */
  get env(): Record<string, string> {
    return { [MARK]: this.#mark }
  }

  /**
   * Puts what an earlier setup left in place of what is in the workspace and the home directory. `spoiled`: there was one, and it
   * is of no use; workspace and home are empty now.
   */
  async restore(): Promise<'restored' | 'absent' | 'spoiled'> {
    const { context, store, sandbox, steps, signal } = this.#options
    const found = await store.usePreparedWorkspace(this.#key)
    if (!found) return 'absent'
    const started = performance.now()
    try {
      await this.#empty()
      await unpackWorkspace(sandbox, context.plane.blobs, found, { limits: found, signal })
    } catch (error) {
      if (!(error instanceof UnusableArchive || error instanceof BlobsUnavailable)) throw error
      context.log.warn({ err: error, ...store.lease }, 'What an earlier setup left is of no use.')
      if (error instanceof UnusableArchive) {
        await store.deletePreparedWorkspace(found.blob_key)
        await discardBlob(context.plane.blobs, found.blob_key)
      }
      await this.#empty()
      return 'spoiled'
    }
    await steps.tell('restore', 'what the setup commands left for an earlier run', started)
    return 'restored'
  }

  /** Keeps what the commands left, if that is worth it. What cannot be kept fails nothing. */
  async keep(took_ms: number): Promise<void> {
    const { context, store, environment, sandbox } = this.#options
    if (took_ms < WORTH_MS || (await this.#runsOn())) return
    const blob_key = `prepared/${randomUUID()}`
    const late = AbortSignal.timeout(PACK_LIMIT_MS)
    const signal = AbortSignal.any([this.#options.signal, late])
    const limits = limitsOfArchive(context.settings.snapshots.max_bytes)
    try {
      const { archive } = await packWorkspace(sandbox, context.plane.blobs, { blob_key, limits, signal })
      const unnamed = await store.insertPreparedWorkspace(
        { ...archive, key: this.#key, environment_id: environment.uid },
        context.settings.prepared.max_bytes,
      )
      for (const key of unnamed) await discardBlob(context.plane.blobs, key)
    } catch (error) {
      if (this.#options.signal.aborted) throw error
      // Where the sandbox itself is at fault, what comes next meets it too. An image may have no tar that can do it.
      const expected = [ArchiveTooLarge, BlobsUnavailable, SandboxFault].some((kind) => error instanceof kind)
      if (!expected) throw error
      context.log.info({ err: error, ...store.lease }, 'What the setup left was not kept for later runs.')
    }
  }

  /** Whether something that the setup started still runs: a workspace without it would be another one. */
  async #runsOn(): Promise<boolean> {
    const { sandbox, signal } = this.#options
    // That some cannot be read, process 1 for example, is no answer of grep's.
    // In two pieces: the text of this very command may stand in an environment, too.
    const find = `grep -lsF -- "${MARK}=""${this.#mark}" /proc/[0-9]*/environ`
    // Without these programs nobody could tell, or empty a workspace later on.
    const tools = ['grep', 'find'].map((name) => `command -v ${name} >/dev/null && `).join('')
    const { code } = await finish(sandbox, `${tools}[ -z "$(${find})" ]`, signal)
    return code !== 0
  }

  /** As a new sandbox is. */
  async #empty(): Promise<void> {
    const { sandbox, plan, signal } = this.#options
    const emptied = ['/workspace', ...(sandbox.home ? [sandbox.home] : [])].join(' ')
    const made = ['/workspace', ...(plan.spec.folders ?? []).map((name) => `/workspace/${name}`)].join(' ')
    const { code } = await finish(sandbox, `find ${emptied} -mindepth 1 -delete && mkdir -p ${made}`, signal)
    if (code !== 0) throw new SetupFailed('The workspace could not be emptied.')
  }
}

async function finish(
  sandbox: Sandbox,
  command: string,
  signal: AbortSignal,
): Promise<{ code: number | null }> {
  const handle = sandbox.exec({ command: `export LC_ALL=C; ${command}`, cwd: '/', signal })
  for await (const _ of handle.output);
  return handle.exit
}

/** Of everything that a setup depends on: two setups with one key would leave the same, as far as anybody can know. */
function keyOf({ context, environment, plan, sandbox, commits }: PreparedOptions): string {
  const { config, spec, hosts, sources } = plan
  const { name: _name, description: _description, ...rest } = config
  // Without images it is the programs of this machine that set up.
  const made_of = sandbox.image_digest ?? context.settings.place
  const parts = [
    FORMAT,
    environment.uid,
    context.backend.name,
    made_of,
    rest,
    commits,
    spec.egress,
    hosts,
    sources,
  ]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}
