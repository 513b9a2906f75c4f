/** What this machine cannot run. Asking installs and starts what is missing where that is possible. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Why there is no Docker engine with the test image; `false` where there is one. */
export const whyNoDocker = (): string | false => whyNot('test-docker.sh')

/** Why bubblewrap cannot make sandboxes; `false` where it can. */
export const whyNoBubblewrap = (): string | false => whyNot('setup-debian.sh', 'sandbox')

/** Why there is no keyring of a desktop; `false` where there is one. */
export const whyNoKeyring = (): string | false => whyNot('setup-debian.sh', 'keyring')

function whyNot(script: string, ...words: string[]): string | false {
  const path = fileURLToPath(new URL(`../../../scripts/${script}`, import.meta.url))
  const { status, stderr } = spawnSync(path, words, { encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'] })
  return status === 0 ? false : `this machine cannot run it: ${stderr.trim()}`
}
