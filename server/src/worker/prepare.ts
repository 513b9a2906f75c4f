import type { NewEvent } from '../contract/event.ts'
import type { Outcome } from '../harness/harness.ts'
import {
  type Sandbox,
  type SandboxEgress,
  SandboxImageError,
  type SandboxLimits,
  type SandboxSpec,
} from '../sandbox/sandbox.ts'
import type { RunRow } from '../store/runs.ts'
import type { Commits } from '../store/sandboxes.ts'
import { readCommits } from './commits.ts'
import type { WorkerContext } from './context.ts'
import { refuse } from './endings.ts'
import type { EventWriter } from './event-writer.ts'
import type { FencedStore } from './fenced-store.ts'
import { branchOf, pushableOf } from './git-plan.ts'
import { LeaseLost } from './lease-lost.ts'
import { openLocalRepository } from './local-repository.ts'
import { directoryOf, fetchRepository, repositoriesOf, restoreBranch } from './repository.ts'
import { exportId, exportRepository } from './repository-export.ts'
import { createSetupSteps, SetupFailed, type SetupSteps } from './setup-step.ts'
import { limitsOf, planWorkspace, type WorkspacePlan } from './workspace-plan.ts'

const SETUP_MINUTES = 30

export interface PrepareHooks {
  emit: (...events: NewEvent[]) => Promise<void>
  signal: AbortSignal
  /** Aborted when the run is to stop: interrupted, or it holds or has spent more than it may. No further step begins. */
  halted: AbortSignal
  /** Told, before anything runs, the values that the sandbox is given and nobody is to read in the log. */
  masked: EventWriter['masked']
  /** Opens the way out of the sandbox, to what the plan names only; closing it is the caller's business. */
  openEgress: (plan: Pick<WorkspacePlan, 'hosts' | 'git' | 'models'>) => Promise<SandboxEgress>
  /** What the network policy refused so far, one sentence each. */
  refusals: readonly string[]
  /** Called as soon as there is a sandbox to watch; returns what is used in its place. */
  onSandbox: (sandbox: Sandbox, limits: SandboxLimits) => Sandbox
}

export interface Workspace extends WorkspacePlan {
  sandbox: Sandbox
  commits: Commits
}

export type Prepared = Workspace | { failure: Outcome }

/**
 * A sandbox with the run's workspace: the one of the attempt before when it is still here and was prepared to its end,
 * else a fresh one with repositories and setup commands. Each step is told as `setup` events; so is what was lost.
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
  const plan = await planWorkspace(context, store, { run, environment }, hooks.masked)
  if ('failure' in plan) return plan
  const { config } = plan
  const proxied = plan.spec.egress === 'allowlist' && { proxy: await hooks.openEgress(plan) }
  const spec: SandboxSpec = { ...plan.spec, ...proxied }
  const steps = createSetupSteps(hooks)

  let sandbox: Sandbox
  try {
    const kept = await reattach(context, store, run, spec, hooks, steps)
    if (kept) return { ...plan, ...kept }
    sandbox = await steps.run('sandbox', context.backend.name, async () =>
      hooks.onSandbox(await context.backend.create(spec), spec.limits),
    )
  } catch (error) {
    if (!(error instanceof SandboxImageError)) throw error
    context.log.warn({ err: error, ...lease }, 'The image of the environment cannot be used.')
    if (environment) await store.markSetup(environment.uid, true)
    return refuse('environment_setup_failed', `The image ${config.docker_image} ${error.message}.`)
  }
  const record = ({ ref }: Sandbox, prepared: boolean, commits: Commits = {}) =>
    store.recordSandbox({ place: context.settings.place, ref, prepared, commits })
  const bare = repositoriesOf(config).length === 0 && !config.setup_commands?.length
  // A sandbox without a row is made anew by the next attempt, so a bare one needs no row before it is whole.
  if (!bare) await record(sandbox, false)
  const made = await setUp(context, store, { plan, sandbox, restores: run.started_at !== null }, steps, hooks)
  const failed = 'failure' in made
  if (environment && !bare && !hooks.halted.aborted) await store.markSetup(environment.uid, failed)
  if (failed) return refuse('environment_setup_failed', made.failure)
  await record(sandbox, true, made.commits)
  return { ...plan, ...made, sandbox }
}

/**
 * Repositories, then commands, each in order. `restores`: what the run pushed before is in them. `failure`: what the first
 * failing one has to say.
 */
async function setUp(
  context: WorkerContext,
  { lease }: FencedStore,
  { plan, sandbox, restores }: { plan: WorkspacePlan; sandbox: Sandbox; restores: boolean },
  steps: SetupSteps,
  { signal: stopping, halted, refusals }: PrepareHooks,
): Promise<{ commits: Commits } | { failure: string }> {
  const { limit_maxima } = context.settings
  const { config } = plan
  const setup_minutes = config.limits?.setup_minutes ?? Math.min(SETUP_MINUTES, limit_maxima.setup_minutes)
  const deadline = AbortSignal.timeout(setup_minutes * 60_000)
  const signal = AbortSignal.any([stopping, halted, deadline])
  try {
    for (const [place, repository] of repositoriesOf(config).entries()) {
      const openExport = async (local_path: string) =>
        exportRepository(context, await openLocalRepository(local_path, context.settings), {
          id: exportId(lease.run_id, place),
          attempt: lease.attempt,
          limits: limitsOf(config, limit_maxima),
          signal,
        })
      await fetchRepository({ repository, sandbox, steps, signal, openExport })
    }
    // Before a command of anybody's could move them.
    const commits = await readCommits(sandbox, repositoriesOf(config).map(directoryOf), signal)
    const branch = branchOf(lease.run_id)
    for (const { repository } of restores ? pushableOf({ ...plan, commits }) : [])
      await restoreBranch({ repository, branch, sandbox, steps, signal })
    for (const command of config.setup_commands ?? []) {
      await steps.exec('command', sandbox, { command, env: { CI: 'true' }, signal })
    }
    return { commits }
  } catch (error) {
    if (stopping.aborted) throw new LeaseLost()
    if (!(error instanceof SetupFailed)) throw error
    const late = deadline.aborted ? ['The setup took longer than its limit.'] : []
    // Git and most programs say no more of a refusal than its number.
    const unsaid = refusals.filter((refusal) => !error.message.includes(refusal))
    return { failure: [error.message, ...unsaid, ...late].join(' ') }
  }
}

async function reattach(
  context: WorkerContext,
  store: FencedStore,
  run: RunRow,
  spec: SandboxSpec,
  hooks: PrepareHooks,
  steps: SetupSteps,
): Promise<{ sandbox: Sandbox; commits: Commits } | null> {
  if (store.lease.attempt === 1) return null
  const earlier = await store.readSandbox()
  if (
    earlier?.prepared &&
    earlier.ref.backend === context.backend.name &&
    earlier.place === context.settings.place
  ) {
    const started = performance.now()
    const attached = await context.backend.attach(spec)
    if (attached) {
      const sandbox = hooks.onSandbox(attached, spec.limits)
      const { commits } = earlier
      await store.recordSandbox({ place: context.settings.place, ref: sandbox.ref, prepared: true, commits })
      await steps.tell('restore', 'the workspace of the attempt before, as it was left', started)
      return { sandbox, commits }
    }
  }
  // Half-made workspaces are of no use to anyone.
  const half = earlier && !earlier.prepared ? await context.backend.attach(spec) : null
  await half?.destroy()
  // Started once, so there was a workspace: here, on another machine, or removed after its idle time.
  if (run.started_at) {
    await steps.tell(
      'restore',
      'a fresh workspace: the earlier one is not on this machine any more, and its changes with it',
    )
  }
  return null
}
