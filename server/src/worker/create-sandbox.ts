import type { ReservedWay } from '../gateway/gateway.ts'
import type { Sandbox, SandboxEgress, SandboxLimits, SandboxSpec } from '../sandbox/sandbox.ts'
import type { Reserve, WorkerContext } from './context.ts'
import type { FencedStore } from './fenced-store.ts'
import type { SetupSteps } from './setup-step.ts'
import type { WorkspacePlan } from './workspace-plan.ts'

export interface SandboxHooks {
  /**
   * Opens the way out of the sandbox, to what the plan names only, where one is reserved or anywhere; closing it is the caller's
   * business. Another one closes the one before.
   */
  openEgress: (
    plan: Pick<WorkspacePlan, 'hosts' | 'git' | 'models'>,
    reserved?: ReservedWay,
  ) => Promise<SandboxEgress>
  /** Called as soon as there is a sandbox to watch; returns what is used in its place. */
  onSandbox: (sandbox: Sandbox, limits: SandboxLimits) => Sandbox
}

/** A new one, told as a step of the setup: one made in advance, where there is one of its kind. */
export const createSandbox = (
  context: WorkerContext,
  store: FencedStore,
  plan: WorkspacePlan,
  hooks: SandboxHooks,
  steps: SetupSteps,
): Promise<Sandbox> =>
  steps.run('sandbox', context.backend.name, async () => {
    const reserve = context.warm.take(plan.spec)
    const adopted = reserve && (await adopt(context, store, reserve, plan, hooks))
    return hooks.onSandbox(
      adopted ?? (await context.backend.create(await withEgress(plan, hooks))),
      plan.spec.limits,
    )
  })

/** Takes over one made in advance; `null` where it is of no use any more. */
async function adopt(
  { settings }: WorkerContext,
  store: FencedStore,
  { sandbox, way }: Reserve,
  plan: WorkspacePlan,
  hooks: SandboxHooks,
): Promise<Sandbox | null> {
  let adopted: Sandbox | null = null
  try {
    const spec = await withEgress(plan, hooks, way)
    // The row comes first: of an adopted one without a row nobody would know whose it is.
    const ref = { ...sandbox.ref, attempt: spec.attempt }
    await store.recordSandbox({ place: settings.place, ref, prepared: false, commits: {} })
    adopted = await sandbox.adopt(spec)
    return adopted
  } finally {
    if (!adopted) {
      way?.close()
      // Nobody else has it any more, and while this worker lives the reaper leaves it alone.
      await sandbox.destroy().catch(() => {})
    }
  }
}

/** With the way out that its policy needs. */
export async function withEgress(
  plan: WorkspacePlan,
  hooks: SandboxHooks,
  way: ReservedWay | null = null,
): Promise<SandboxSpec> {
  if (plan.spec.egress !== 'allowlist') return plan.spec
  return { ...plan.spec, proxy: await hooks.openEgress(plan, way ?? undefined) }
}
