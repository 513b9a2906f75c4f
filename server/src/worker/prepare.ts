import { directoryOf, repositoriesOf } from '../contract/environment-repositories.ts'
import type { NewEvent } from '../contract/event.ts'
import { type Sandbox, SandboxImageError } from '../sandbox/sandbox.ts'
import type { EnvironmentRow } from '../store/environments.ts'
import type { RunRow } from '../store/runs.ts'
import type { Commits, NewSandbox } from '../store/sandboxes.ts'
import type { SnapshotRow } from '../store/snapshots.ts'
import { readCommits } from './commits.ts'
import type { WorkerContext } from './context.ts'
import { createSandbox, type SandboxHooks, withEgress } from './create-sandbox.ts'
import { type ExecutionEnd, refuse } from './endings.ts'
import type { EventWriter } from './event-writer.ts'
import type { FencedStore } from './fenced-store.ts'
import { branchOf, goesByGateway, pushableOf } from './git-plan.ts'
import { LeaseLost } from './lease-lost.ts'
import { openLocalRepository } from './local-repository.ts'
import { PreparedWorkspace } from './prepared-workspace.ts'
import { fetchRepository, restoreBranch } from './repository.ts'
import { exportId, exportRepository } from './repository-export.ts'
import { restoreWorkspace, tellFresh } from './restore-workspace.ts'
import { createSetupSteps, SetupFailed, type SetupSteps } from './setup-step.ts'
import { lookForChanges } from './workspace-changes.ts'
import { limitsOf, planWorkspace, type WorkspacePlan } from './workspace-plan.ts'

const SETUP_MINUTES = 30

/** A command before a pipe that fails is a setup that failed. On the line of the command: shells number lines. */
const PIPEFAIL = '(set -o pipefail) 2>/dev/null && set -o pipefail; '

export interface PrepareHooks extends SandboxHooks {
  emit: (...events: NewEvent[]) => Promise<void>
  signal: AbortSignal
  /** Aborted when the run is to stop: interrupted, or it holds or has spent more than it may. No further step begins. */
  halted: AbortSignal
  /** Told, before anything runs, the values that the sandbox is given and nobody is to read in the log. */
  masked: EventWriter['masked']
  /** The agent is a program in the sandbox. */
  runs_inside?: boolean | undefined
  /** What the network policy refused so far, one sentence each. */
  refusals: () => Promise<readonly string[]>
}

export interface Workspace extends WorkspacePlan {
  sandbox: Sandbox
  commits: Commits
  /** What is to be recorded of the sandbox, where nothing is yet. */
  unrecorded?: NewSandbox
  /**
   * The snapshot of it, where one is kept, and what changed since when is not in that; or when it was made, as
   * `lookForChanges` takes it. `stamp: null`: nothing is known.
   */
  known: { snapshot: SnapshotRow | null; stamp: string | null }
}

export type Prepared = Workspace | { failure: ExecutionEnd }

/**
 * A sandbox with the run's workspace: the one of the attempt before when it is still here and was prepared to its end, else
 * what was kept of it, else a fresh one with repositories and setup commands. A debug turn has the one that its setup left. Each step is told as `setup` events; so is what
 * was lost.
 */
export async function prepareSandbox(
  context: WorkerContext,
  store: FencedStore,
  run: RunRow,
  hooks: PrepareHooks,
): Promise<Prepared> {
  const { lease } = store
  const { environment_id } = run
  const environment = environment_id ? await store.findEnvironment(environment_id) : null
  if (environment_id && !environment) {
    return refuse('resource_not_found', `The environment ${environment_id} does not exist any more.`)
  }
  const plan = await planWorkspace(
    context,
    store,
    { run, environment, runs_inside: hooks.runs_inside },
    hooks.masked,
  )
  if ('failure' in plan) return plan
  const { config } = plan
  const steps = createSetupSteps(hooks)
  if (run.debug !== null) return openFailedSetup(context, store, plan, hooks, steps)

  let sandbox: Sandbox
  try {
    const kept = await findKept(context, store, run, plan, hooks, steps)
    if (kept && 'failure' in kept) return refuse('environment_setup_failed', kept.failure)
    if (kept) return { ...plan, ...kept }
    sandbox = await createSandbox(context, store, plan, hooks, steps)
  } catch (error) {
    if (!(error instanceof SandboxImageError)) throw error
    context.log.warn({ err: error, ...lease }, 'The image of the environment cannot be used.')
    if (environment) await store.markSetup(environment.uid, true)
    return refuse('environment_setup_failed', `The image ${config.docker_image} ${error.message}.`)
  }
  const recordOf = ({ ref }: Sandbox, prepared: boolean, commits: Commits = {}): NewSandbox => ({
    ...{ place: context.settings.place, ref, prepared, commits },
  })
  const bare = repositoriesOf(config).length === 0 && !config.setup_commands?.length
  // A sandbox without a row is made anew by the next attempt, so a bare one needs no row before the run starts.
  if (!bare) await store.recordSandbox(recordOf(sandbox, false))
  const restores = run.started_at !== null
  const made = await setUp(context, store, { plan, environment, sandbox, restores }, steps, hooks)
  const failed = 'failure' in made
  if (environment && !bare && !hooks.halted.aborted) await store.markSetup(environment.uid, failed)
  if (failed) return refuse('environment_setup_failed', made.failure)
  const row = recordOf(sandbox, true, made.commits)
  // Of a bare one nothing need be known: whatever it holds is new.
  if (bare) return { ...plan, ...made, sandbox, unrecorded: row, known: { snapshot: null, stamp: null } }
  await store.recordSandbox(row)
  const { stamp } = await lookForChanges(sandbox, { since: null, signal: hooks.signal })
  return { ...plan, ...made, sandbox, known: { snapshot: null, stamp } }
}

interface SetUpOptions {
  plan: WorkspacePlan
  environment: EnvironmentRow | null
  sandbox: Sandbox
  /** What the run pushed before is in the repositories. */
  restores: boolean
}

/**
 * Repositories, then commands, each in order, or what the commands left for an earlier run. `failure`: what the first failing
 * one has to say.
 */
async function setUp(
  context: WorkerContext,
  store: FencedStore,
  { plan, environment, sandbox, restores }: SetUpOptions,
  steps: SetupSteps,
  { signal: stopping, halted, refusals }: PrepareHooks,
): Promise<{ commits: Commits } | { failure: string }> {
  const { lease } = store
  const { limit_maxima } = context.settings
  const { config } = plan
  const setup_minutes = config.limits?.setup_minutes ?? Math.min(SETUP_MINUTES, limit_maxima.setup_minutes)
  const deadline = AbortSignal.timeout(setup_minutes * 60_000)
  const signal = AbortSignal.any([stopping, halted, deadline])
  try {
    const clone = async (): Promise<Commits> => {
      for (const [place, repository] of repositoriesOf(config).entries()) {
        const openExport = async (local_path: string) =>
          exportRepository(context, await openLocalRepository(local_path, context.settings), {
            id: exportId(lease.run_id, place),
            attempt: lease.attempt,
            limits: limitsOf(config, limit_maxima),
            signal,
          })
        const large_files = goesByGateway(plan.git, repository)
        await fetchRepository({ repository, sandbox, steps, signal, openExport, large_files })
      }
      // Before a command of anybody's could move them.
      return readCommits(sandbox, repositoriesOf(config).map(directoryOf), signal)
    }
    const commits = await clone()
    const branch = branchOf(lease.run_id)
    for (const { repository } of restores ? pushableOf({ ...plan, commits }) : [])
      await restoreBranch({ repository, branch, sandbox, steps, signal })
    // What the run itself did before is in no other's.
    const prepared =
      environment && !restores
        ? PreparedWorkspace.of({ context, store, environment, plan, sandbox, commits, steps, signal })
        : null
    const found = (await prepared?.restore()) ?? 'absent'
    if (found === 'restored') return { commits }
    if (found === 'spoiled') await clone()
    const began = performance.now()
    for (const command of config.setup_commands ?? []) {
      await steps.exec('command', sandbox, {
        ...{ name: command, command: PIPEFAIL + command, cwd: plan.cwd, signal },
        env: { CI: 'true', ...prepared?.env },
      })
    }
    await prepared?.keep(performance.now() - began)
    return { commits }
  } catch (error) {
    if (stopping.aborted) throw new LeaseLost()
    if (!(error instanceof SetupFailed)) throw error
    const late = deadline.aborted ? ['The setup took longer than its limit.'] : []
    // Git and most programs say no more of a refusal than its number.
    const unsaid = (await refusals()).filter((refusal) => !error.message.includes(refusal))
    return { failure: [error.message, ...unsaid, ...late].join(' ') }
  }
}

type Kept = Pick<Workspace, 'sandbox' | 'commits' | 'known'>

/** The workspace of the attempt before, here or from its snapshot; `null`: there is none, or it is told what became of it. */
async function findKept(
  context: WorkerContext,
  store: FencedStore,
  run: RunRow,
  plan: WorkspacePlan,
  hooks: PrepareHooks,
  steps: SetupSteps,
): Promise<Kept | { failure: string } | null> {
  if (store.lease.attempt === 1 && !run.fork_of) return null
  const snapshot = await store.findSnapshot()
  const earlier = await store.readSandbox()
  const attach = async (): Promise<Sandbox | null> => {
    const spec = await withEgress(plan, hooks)
    return context.backend.attach({ ...spec, run_id: earlier?.ref.run_id ?? spec.run_id })
  }
  if (
    earlier?.prepared &&
    earlier.ref.backend === context.backend.name &&
    earlier.place === context.settings.place
  ) {
    const started = performance.now()
    const attached = await attach()
    if (attached) {
      const sandbox = hooks.onSandbox(attached, plan.spec.limits)
      const { commits } = earlier
      await store.recordSandbox({ place: context.settings.place, ref: sandbox.ref, prepared: true, commits })
      await steps.tell('restore', 'the workspace of the attempt before, as it was left', started)
      // One that was taken elsewhere says nothing of what is here by now.
      const own = snapshot?.sandbox_id === sandbox.ref.id ? snapshot : null
      return { sandbox, commits, known: { snapshot: own, stamp: own?.stamp ?? null } }
    }
  }
  // Half-made workspaces are of no use to anyone.
  const half = earlier && !earlier.prepared ? await attach() : null
  await half?.destroy()
  if (snapshot) return restore(context, store, { snapshot, plan }, hooks, steps)
  // Started once, so there was a workspace: here, on another machine, or removed after its idle time.
  if (run.started_at || run.fork_of?.with_workspace) await steps.tell('restore', await tellFresh(store, null))
  return null
}

async function restore(
  context: WorkerContext,
  store: FencedStore,
  { snapshot, plan }: { snapshot: SnapshotRow; plan: WorkspacePlan },
  hooks: PrepareHooks,
  steps: SetupSteps,
): Promise<Kept | { failure: string } | null> {
  const started = performance.now()
  const sandbox = await createSandbox(context, store, plan, hooks, steps)
  const { place } = context.settings
  // Until it is whole it is of no use to anyone.
  await store.recordSandbox({ place, ref: sandbox.ref, prepared: false, commits: {} })
  const signal = AbortSignal.any([hooks.signal, hooks.halted])
  let restored: Awaited<ReturnType<typeof restoreWorkspace>>
  try {
    restored = await restoreWorkspace(context, store, { sandbox, snapshot, signal })
  } catch (error) {
    if (hooks.signal.aborted) throw new LeaseLost()
    if (hooks.halted.aborted) return { failure: 'Restoring the workspace was stopped.' }
    throw error
  }
  if ('unusable' in restored) {
    await sandbox.destroy()
    await steps.tell('restore', await tellFresh(store, restored.unusable))
    return null
  }
  const { commits, attachments_written } = snapshot
  await store.recordSandbox({ place, ref: sandbox.ref, prepared: true, commits, attachments_written })
  const { stamp } = await lookForChanges(sandbox, { since: null, signal: hooks.signal })
  await steps.tell('restore', restored.told, started)
  return { sandbox, commits, known: { snapshot, stamp } }
}

const GONE: Extract<Prepared, { failure: unknown }> = {
  failure: {
    state: 'FAILED',
    status_message: {
      message:
        'The sandbox of the failed setup is not there any more. The next follow-up begins a new execution.',
      error_code: 'resource_unavailable',
      retryable: true,
    },
    session: 'gone',
  },
}

/**
 * The sandbox as a failed setup left it, for a debug turn: nothing is set up again. What was half made stays marked as such, so
 * that another execution begins anew.
 */
async function openFailedSetup(
  { backend, settings }: WorkerContext,
  store: FencedStore,
  plan: WorkspacePlan,
  hooks: PrepareHooks,
  steps: SetupSteps,
): Promise<Prepared> {
  const started = performance.now()
  const left = await store.readSandbox()
  if (left?.place !== settings.place || left.ref.backend !== backend.name) return GONE
  const spec = await withEgress(plan, hooks)
  const attached = await backend.attach({ ...spec, run_id: left.ref.run_id })
  if (!attached) return GONE
  const sandbox = hooks.onSandbox(attached, plan.spec.limits)
  const { prepared, commits } = left
  await store.recordSandbox({ place: settings.place, ref: sandbox.ref, prepared, commits })
  await steps.tell('restore', 'the sandbox as its failed setup left it', started)
  // A repository that could not be cloned has no folder.
  const folder = await sandbox.stat(plan.cwd)
  const cwd = folder?.type === 'directory' ? plan.cwd : sandbox.workspace
  return { ...plan, sandbox, commits, cwd, known: { snapshot: null, stamp: null } }
}
