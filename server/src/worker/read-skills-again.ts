/** What the repositories of an environment hold for agents, read without a run: in a sandbox that has them and nothing else. */
import { directoryOf, repositoriesOf } from '../contract/environment-repositories.ts'
import type { EnvironmentSkills } from '../contract/skill.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { readRepository } from '../skills/read-repository.ts'
import type { EnvironmentRow } from '../store/environments.ts'
import { readCommits } from './commits.ts'
import type { WorkerContext } from './context.ts'
import type { HeldRefresh } from './control-plane.ts'
import { planEgress } from './egress.ts'
import { planGit } from './git-plan.ts'
import { openLocalRepository } from './local-repository.ts'
import { fetchRepository } from './repository.ts'
import { exportRepository } from './repository-export.ts'
import { checkoutsOf, listFound } from './run-skills.ts'
import { createSetupSteps, SetupFailed } from './setup-step.ts'
import { sortSecrets, type UsedSecrets } from './used-secrets.ts'
import { nameOfOwn } from './warm-sandboxes.ts'
import { limitsOf } from './workspace-plan.ts'

/** Nobody is shown what git prints here. */
const UNSEEN = {
  emit: async () => {},
  masked: { stream: () => ({ push: () => '', gap: () => '', end: () => '' }) },
}

export interface Reader {
  worker_id: string
  held: HeldRefresh
  signal: AbortSignal
}

/** `problem`: why they cannot be read, for people. No command of the environment is run, and its image is not used. */
export async function readSkillsAgain(
  context: WorkerContext,
  environment: EnvironmentRow,
  reader: Reader,
): Promise<{ found: EnvironmentSkills } | { problem: string }> {
  const { backend, gateway, warden, settings, log } = context
  const { config } = environment
  const run_id = nameOfOwn(reader.worker_id)
  const secrets = await findSecrets(environment, reader)
  if ('problem' in secrets) return secrets
  const own = settings.git_credential ? [settings.git_credential] : []
  const credentials = [...secrets.credentials, ...own]
  const git = planGit(config, run_id, { credentials, variables: {} }, settings)
  const plan = planEgress(config, context, { git: git !== null, models: false })
  if ('refusal' in plan) return { problem: plan.refusal }
  const way =
    plan.policy === 'allowlist'
      ? await gateway.open(
          {
            ...{ hosts: plan.hosts, private_hosts: settings.private_hosts },
            ...(git ? { git: git.rules } : {}),
          },
          () => {},
        )
      : null
  let sandbox: Sandbox | null = null
  try {
    const limits = limitsOf(config, settings.limit_maxima)
    const env = { GIT_TERMINAL_PROMPT: '0', ...git?.env }
    sandbox = await backend.create({
      ...{ run_id, attempt: 0, limits, egress: plan.policy, env },
      ...(way ? { proxy: way } : {}),
    })
    warden.watch(sandbox.ref)
    return { found: await readAll(context, environment, sandbox, reader) }
  } catch (error) {
    if (!(error instanceof SetupFailed)) throw error
    // The rest is what git printed.
    return { problem: error.message.split('\n', 1)[0] ?? '' }
  } finally {
    way?.close()
    const made = sandbox
    await made?.destroy().then(
      () => warden.unwatch(made.ref),
      (error) => log.warn({ err: error, ...made.ref }, 'Removing a sandbox failed; the reaper tries again.'),
    )
  }
}

async function findSecrets(
  environment: EnvironmentRow,
  { held }: Reader,
): Promise<Pick<UsedSecrets, 'credentials'> | { problem: string }> {
  const used = await held.useSecrets(environment)
  if ('missing' in used)
    return { problem: `The environment names secrets that there are not: ${used.missing.join(', ')}.` }
  return sortSecrets(used)
}

async function readAll(
  context: WorkerContext,
  { config }: EnvironmentRow,
  sandbox: Sandbox,
  { worker_id, signal }: Reader,
): Promise<EnvironmentSkills> {
  const { settings } = context
  const steps = createSetupSteps(UNSEEN)
  const repositories = repositoriesOf(config)
  for (const repository of repositories) {
    const openExport = async (local_path: string) =>
      exportRepository(context, await openLocalRepository(local_path, settings), {
        ...{ id: nameOfOwn(worker_id), attempt: 0, signal },
        limits: limitsOf(config, settings.limit_maxima),
      })
    // What lies in other repositories or with Git LFS holds no skills.
    const { submodules: _, ...plain } = repository
    await fetchRepository({ repository: plain, sandbox, steps, signal, openExport, large_files: false })
  }
  const commits = await readCommits(sandbox, repositories.map(directoryOf), signal)
  const checkouts = checkoutsOf({ config, commits })
  return listFound(
    await Promise.all(checkouts.map((checkout) => readRepository(sandbox, checkout, [], signal))),
  )
}
