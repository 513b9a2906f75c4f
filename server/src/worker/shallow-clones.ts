import { directoryOf, repositoriesOf } from '../contract/environment-repositories.ts'
import type { Workspace } from './prepare.ts'

/**
 * What the agent is told of clones that have a part of their history alone, as long as they do: git takes the last commit for the
 * first one, and says nothing of it. Throws `SandboxFault`.
 */
export async function noteShallowClones({
  config,
  sandbox,
}: Pick<Workspace, 'config' | 'sandbox'>): Promise<string[]> {
  const notes: string[] = []
  for (const repository of repositoriesOf(config)) {
    if (!repository.url || repository.depth === 0) continue
    const directory = `/workspace/${directoryOf(repository)}`
    const shallow = await sandbox.stat(`${directory}/.git/shallow`)
    if (shallow?.type !== 'file' || shallow.size === 0) continue
    const depth = repository.depth ?? 1
    const commits = depth === 1 ? 'the last commit' : `the last ${depth} commits`
    notes.push(
      `The clone in ${directory} is shallow: it was made with ${commits} of one branch, so git log, blame, bisect and merge-base see no further. \
Where you need more, \`git fetch --deepen=100\` in it brings a hundred commits more, \`git fetch --unshallow\` all of them, and \
\`git fetch origin NAME:refs/remotes/origin/NAME\` another branch.`,
    )
  }
  return notes
}
