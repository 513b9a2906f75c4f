import { directoryOf } from '../contract/environment-repositories.ts'
import type { EnvironmentRepository } from '../contract/environment-repository.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { CLONE_BUNDLE, CLONE_URL, kindOfRef, RESTORE_BRANCH } from './clone-scripts.ts'
import type { RepositoryExport } from './repository-export.ts'
import type { SetupSteps } from './setup-step.ts'

/** Brings one repository into the workspace. All git work on what a stranger wrote happens inside a sandbox. */
export async function fetchRepository(options: {
  repository: EnvironmentRepository
  sandbox: Sandbox
  steps: SetupSteps
  signal: AbortSignal
  /** Begins to bundle a repository of this machine. */
  openExport: (local_path: string) => Promise<RepositoryExport>
  /** Those of Git LFS are brought along, where the image has `git-lfs`. */
  large_files: boolean
}): Promise<void> {
  const { repository, sandbox, steps, signal } = options
  const { ref = '' } = repository
  const kind = kindOfRef(ref)
  // Ids are written in either case; names are not.
  const env = {
    REF: kind === 'id' ? ref.toLowerCase() : ref,
    ID: ref.toLowerCase(),
    KIND: kind,
    DIR: directoryOf(repository),
  }
  if (repository.url) {
    const depth = repository.depth ?? 1
    await steps.exec('clone', sandbox, {
      name: repository.url,
      command: CLONE_URL,
      env: {
        ...env,
        URL: repository.url,
        DEPTH: depth === 0 ? '' : String(depth),
        LFS: options.large_files ? '1' : '',
        SUBMODULES: repository.submodules ? '1' : '',
        // What goes by the gateway does so within the sandbox.
        GIT_ALLOW_PROTOCOL: 'https:http',
      },
      signal,
    })
    return
  }
  const local_path = repository.local_path ?? ''
  const { bundle, finished } = await options.openExport(local_path)
  const cloned = steps.exec('clone', sandbox, {
    name: local_path,
    command: CLONE_BUNDLE,
    // A bundle has none of their contents, and a checkout that asks for them fails.
    env: { ...env, GIT_LFS_SKIP_SMUDGE: '1' },
    stdin: bundle,
    signal,
  })
  // Whichever ends badly stops the other, and nothing of the export outlives this.
  const failure = await cloned.then(
    () => null,
    (error: unknown) => error,
  )
  bundle.destroy()
  // A clone of half a bundle says little; what stopped the bundle says why.
  const reason = (await finished) ?? failure
  if (reason) throw reason
}

/** Goes on in a repository just fetched from what the run pushed of it before, where that is still there. */
export async function restoreBranch(options: {
  repository: EnvironmentRepository & { url: string }
  branch: string
  sandbox: Sandbox
  steps: SetupSteps
  signal: AbortSignal
}): Promise<void> {
  const { repository, branch, sandbox, steps, signal } = options
  await steps.exec('restore', sandbox, {
    name: `what was pushed of ${repository.url} as ${branch}, if anything`,
    command: RESTORE_BRANCH,
    env: { DIR: directoryOf(repository), URL: repository.url, REF: `refs/heads/${branch}` },
    signal,
  })
}
