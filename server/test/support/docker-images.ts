import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { TEST_IMAGE } from './sandbox-backends.ts'

const docker = (args: string[], input?: string): string =>
  execFileSync('docker', args, {
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'pipe'],
    // An engine that is stuck must not hold up all tests.
    timeout: 120_000,
    ...(input ? { input } : {}),
  })

/** The test image changed by a script run as root in it, and by Dockerfile instructions; its name. */
export function makeImage(script: string, changes: string[] = []): string {
  const name = `runyard-hostile:${randomUUID()}`
  const container = `runyard-hostile-${randomUUID()}`
  docker(['run', '--name', container, '--network', 'none', '-i', TEST_IMAGE, 'perl', '-e', PERL, script])
  docker(['commit', ...changes.flatMap((change) => ['--change', change]), container, name])
  docker(['rm', container])
  return name
}

/** What the run's sandbox, kept for follow-ups, has left on the engine. */
export const removeSandbox = (run_id: string): void => removeLabelled(`runyard.run_id=${run_id}`)

/** The same of all runs of its installation, those in containers that were made in advance among them. */
export function removeSandboxesBeside(run_id: string): void {
  const installation = installationOf(run_id)
  if (installation) removeLabelled(`runyard.installation=${installation}`)
}

/** The installation of a run whose container was made for it. */
export const installationOf = (run_id: string): string => {
  const format = '{{.Label "runyard.installation"}}'
  return docker(['ps', '--all', '--filter', `label=runyard.run_id=${run_id}`, '--format', format]).trim()
}

/**
 * Removes, when it is called, what has come onto the engine since: for benches, which have it to themselves. A run's own container
 * would not lead to all of them, since it may be removed by then, or have been made for whoever came first.
 */
export function markSandboxes(): () => void {
  const before = findLabelled('runyard.installation')
  return () => {
    const now = findLabelled('runyard.installation')
    remove({
      containers: now.containers.filter((id) => !before.containers.includes(id)),
      volumes: now.volumes.filter((name) => !before.volumes.includes(name)),
    })
  }
}

const removeLabelled = (label: string): void => remove(findLabelled(label))

interface Found {
  containers: string[]
  volumes: string[]
}

function findLabelled(label: string): Found {
  const filter = ['--quiet', '--filter', `label=${label}`]
  const find = (...command: string[]) =>
    docker([...command, ...filter])
      .split('\n')
      .filter(Boolean)
  return { containers: find('ps', '--all'), volumes: find('volume', 'ls') }
}

function remove({ containers, volumes }: Found): void {
  if (containers.length > 0) docker(['rm', '--force', ...containers])
  if (volumes.length > 0) docker(['volume', 'rm', ...volumes])
}

/** The script may replace the shell that runs it. */
const PERL = 'exec "/bin/bash", "-ec", $ARGV[0]'

export function removeImage(name: string): void {
  docker(['rmi', '--force', name])
  // Where a login opened its registry, the note of that.
  const repository = name.replace(/@.*/, '').replace(/:[^/]*$/, '')
  const notes = docker(['volume', 'ls', '--quiet', '--filter', `label=runyard.closed=${repository}`]).trim()
  if (notes) docker(['volume', 'rm', ...notes.split('\n')])
}
