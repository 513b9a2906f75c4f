import { randomUUID } from 'node:crypto'
import type Docker from 'dockerode'
import { openBubblewrap } from './bubblewrap.ts'
import { bubblewrapSetup } from './choose.ts'
import { openDocker } from './docker.ts'
import { ANSWER_LIMIT_MS, connectEngine, messageOf } from './docker-engine.ts'
import { type KubernetesPlace, openKubernetes } from './kubernetes.ts'
import { examineCluster } from './kubernetes-preflight.ts'
import { collectExec, DEFAULT_LIMITS, type SandboxBackend, SandboxFault } from './sandbox.ts'
import { userName } from './user-name.ts'

/** One thing that was looked at, in a sentence. */
export interface Finding {
  /** `weak`: it works, and less well than it could. `bad`: it does not work. */
  state: 'good' | 'weak' | 'bad'
  says: string
  /** What changes that, for whoever runs the machine; absent where nothing need be. */
  fix?: string
}

/** What a backend could do on this machine. */
export interface Prospect {
  findings: Finding[]
  /** Commands run in it now, without anything being pulled or installed. */
  works: boolean
}

/** Sandboxes of trials belong to nobody else, so that the next trial can remove what one that was killed left. */
const INSTALLATION = 'runyard-doctor'
/** Another doctor on the same engine may be slow. */
const SETTLED_MS = 10 * 60_000
const TRIAL_MS = 30_000
/** Of the engine, in the middle of a call. */
const SILENCE_MS = 60_000
const LISTS_FIX =
  'Run the service as root on the machine of the engine, with: apt-get install -y socat util-linux'

/** Tries Docker with the default image, which is not pulled for it. */
export async function examineDocker(image: string): Promise<Prospect> {
  const findings: Finding[] = []
  let docker: Docker
  try {
    docker = await connectEngine({ timeout: ANSWER_LIMIT_MS })
    const { Version, ApiVersion } = await docker.version()
    findings.push({
      state: 'good',
      says: `The Docker engine answers: version ${Version}, API ${ApiVersion}.`,
    })
  } catch (error) {
    return { works: false, findings: [explainEngine(error)] }
  }
  const is_there = await docker
    .getImage(image)
    .inspect()
    .then(
      () => true,
      () => false,
    )
  if (!is_there) {
    const fix = `docker pull ${image}, or name one that is there in RUNYARD_DEFAULT_IMAGE.`
    findings.push({
      state: 'weak',
      says: `The default image ${image} is not on the engine; a start tries to pull it.`,
      fix,
    })
    return { works: false, findings }
  }
  return tryBackend(
    findings,
    async () =>
      openDocker({ installation_id: INSTALLATION, default_image: image, silence_limit_ms: SILENCE_MS }),
    {
      lists: LISTS_FIX,
      git: `Use an image with git: ${image} has none.`,
      start: 'Try `docker run --rm` with the image; the log of the engine says more.',
    },
  )
}

/** Tries bubblewrap with its sandboxes in a directory that is the caller's to remove. */
export async function examineBubblewrap(data_dir: string): Promise<Prospect> {
  const is_root = process.getuid?.() === 0
  const setup = bubblewrapSetup(is_root)
  return tryBackend([], () => openBubblewrap({ data_dir, installation_id: INSTALLATION }), {
    lists: 'As root: apt-get install -y socat util-linux',
    git: 'As root: apt-get install -y git',
    start: setup,
  })
}

/** Tries the cluster: who we are there, what we may do, and whether a Pod gets a closed network. */
export async function examineKubernetes(image: string, place: KubernetesPlace): Promise<Prospect> {
  const findings: Finding[] = []
  try {
    const { api, version, missing } = await examineCluster(place)
    const at = `${api.access.server.host}, namespace ${api.namespace}`
    findings.push({ state: 'good', says: `The API server answers: Kubernetes ${version} at ${at}.` })
    for (const says of missing)
      findings.push({ state: 'bad', says: `${says}.`, fix: 'Apply the Role of docs/kubernetes.md.' })
    if (missing.length > 0) return { works: false, findings }
  } catch (error) {
    const fix =
      'Set RUNYARD_KUBECONFIG to a file with which `kubectl get pods` works on this machine, or run in a Pod with a service account.'
    findings.push({ state: 'bad', says: `${explain(error)}.`, fix })
    return { works: false, findings }
  }
  return tryBackend(
    findings,
    () => openKubernetes({ installation_id: INSTALLATION, default_image: image, ...place }),
    {
      lists: 'Lists of allowed hosts need Docker or bubblewrap for now.',
      git: `Use an image with git: ${image} has none.`,
      start: 'docs/kubernetes.md says what each message means; `kubectl get events` says more.',
    },
  )
}

interface Fixes {
  lists: string
  git: string
  start: string
}

async function tryBackend(
  findings: Finding[],
  open: () => Promise<SandboxBackend>,
  fixes: Fixes,
): Promise<Prospect> {
  try {
    const backend = await open()
    // What cannot be removed now is another time.
    await removeOldTrials(backend).catch(() => {})
    // What fails once on a busy machine is tried again for a run as well.
    const { seconds, git } = await tryCommand(backend).catch(() => tryCommand(backend))
    findings.push({ state: 'good', says: `A trial command ran after ${seconds} s, sandbox included.` })
    if (git) findings.push({ state: 'good', says: `Sandboxes have git: ${git}.` })
    else
      findings.push({
        state: 'weak',
        says: 'Sandboxes have no git: no repository can be cloned.',
        fix: fixes.git,
      })
    const { limits, egress } = backend.capabilities
    if (limits === 'hard')
      findings.push({ state: 'good', says: 'Memory, processes and CPU are limited for each run.' })
    for (const { says, fix } of backend.weaknesses)
      findings.push({ state: 'weak', says: `Limits are weak: ${says}.`, fix })
    if (egress.includes('allowlist'))
      findings.push({
        state: 'good',
        says: 'Networks with a list of allowed hosts, private repositories and models for commands are possible.',
      })
    else
      findings.push({
        state: 'weak',
        says: 'No lists of allowed hosts, no private repositories, no models for commands.',
        fix: fixes.lists,
      })
    return { works: true, findings }
  } catch (error) {
    findings.push({ state: 'bad', says: `It does not work: ${explain(error)}.`, fix: fixes.start })
    return { works: false, findings }
  }
}

/** With the engine's own words, which a fault keeps from callers: whoever asks here runs the machine. */
function explain(error: unknown): string {
  const cause = error instanceof SandboxFault ? error.cause : undefined
  return cause === undefined ? messageOf(error) : `${messageOf(error)}: ${messageOf(cause)}`
}

async function tryCommand(backend: SandboxBackend): Promise<{ seconds: string; git: string }> {
  const began = performance.now()
  const sandbox = await backend.create({
    run_id: randomUUID(),
    attempt: 1,
    limits: DEFAULT_LIMITS,
    egress: 'none',
    env: {},
  })
  try {
    const trial = sandbox.exec({ command: 'git --version 2>/dev/null || true', timeout_ms: TRIAL_MS })
    const { stdout, exit } = await collectExec(trial)
    if (exit.code !== 0)
      throw new Error(`a trial command ended with ${exit.code ?? exit.signal ?? 'its time limit'}`)
    const seconds = ((performance.now() - began) / 1_000).toFixed(2)
    return {
      seconds,
      git: stdout
        .toString()
        .trim()
        .replace(/^git version /, ''),
    }
  } finally {
    await sandbox.destroy()
  }
}

async function removeOldTrials(backend: SandboxBackend): Promise<void> {
  for (const { ref, created_at } of await backend.list())
    if (Date.now() - created_at > SETTLED_MS) await backend.destroy(ref)
}

function explainEngine(error: unknown): Finding {
  const { code } = error as { code?: unknown }
  // What is said here is passed on: a password does not belong there, wherever it came from.
  const address = process.env.DOCKER_HOST?.replace(/\/\/[^/]*:[^/]*@/, '//***@')
  const place = address ? ` at DOCKER_HOST=${address}` : ''
  if (code === 'EACCES')
    return {
      state: 'bad',
      says: `This user may not use the Docker engine${place}.`,
      fix: `As root: usermod -aG docker ${userName()}, then log in again. Whoever is in that group is as good as root.`,
    }
  const fix = place
    ? 'Start the engine, or correct DOCKER_HOST.'
    : 'Install Docker and start it; on Debian and Ubuntu, as root: apt-get install -y docker.io'
  return { state: 'bad', says: `No Docker engine answers${place}.`, fix }
}
