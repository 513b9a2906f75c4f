import type Docker from 'dockerode'
import { type ImageAccounts, readAccounts } from './docker-accounts.ts'
import { engineFault, messageOf, statusOf } from './docker-engine.ts'
import { followLinks } from './docker-image-files.ts'
import { authOf, isRefusal, repositoryOf } from './docker-image-name.ts'
import type { ImageRights } from './docker-image-rights.ts'
import { emptied, LABELS, LOOK } from './docker-labels.ts'
import { makeProgram } from './docker-program.ts'
import { type RegistryLogin, SandboxImageError } from './sandbox.ts'

/** An image that may become a sandbox. */
export interface SandboxImage {
  /** Its content, whatever its name comes to mean meanwhile. */
  id: string
  /** What its registry calls that content; the id where it came from none. */
  digest: string
  labels: string[]
  /** What `makeProgram` makes for its processor. */
  program: Buffer
  accounts: ImageAccounts
}

export interface ImageOptions {
  installation_id: string
  /** May it be pulled when it is not there, and for how long? Absent: no. */
  pull_limit_ms?: number
  login?: RegistryLogin | undefined
  /** Absent: whoever asks may have what the engine has. */
  rights?: ImageRights | undefined
  /** Told before an image is pulled, which may take minutes. */
  onPull?: ((image: string) => void) | undefined
}

/** Where the engine mounts its own init over whatever the image has there. */
const INIT = '/sbin/docker-init'

/** Accounts of the images that were looked into, by id: what has an id does not change. */
const looked = new Map<string, ImageAccounts>()

/** Finds the image, pulling it where that is allowed, and refuses with `SandboxImageError` what would undo the sandbox. */
export async function requireImage(
  docker: Docker,
  image: string,
  options: ImageOptions,
): Promise<SandboxImage> {
  const present = await inspectImage(docker, image)
  if (present) await requireRight(present, image, options)
  const info = present ?? (await pullImage(docker, image, options))
  // Such volumes give room past the read-only root and stay behind.
  if (Object.keys(info.Config.Volumes ?? {}).length > 0)
    throw new SandboxImageError('declares volumes, which sandboxes do not allow')
  const program = makeProgram(info.Architecture)
  if (!program) throw new SandboxImageError('was made for a processor that sandboxes do not know')
  const labels = Object.keys(info.Config.Labels ?? {})
  const accounts = looked.get(info.Id) ?? (await lookInto(docker, info.Id, { labels, ...options }))
  looked.set(info.Id, accounts)
  return { id: info.Id, digest: digestOf(info, image), labels, program, accounts }
}

/** What came from no registry is the operator's. */
async function requireRight(
  info: Docker.ImageInspectInfo,
  image: string,
  { rights, login }: ImageOptions,
): Promise<void> {
  const digest = digestOf(info, image)
  if (digest === info.Id) return
  await rights?.require(image, digest, login).catch((error) => {
    if (error instanceof SandboxImageError) throw error
    throw engineFault('the Docker engine could not look for the image', error)
  })
}

/** An image may be known to several registries by several digests: the one it is asked for by counts. */
function digestOf({ Id, RepoDigests }: Docker.ImageInspectInfo, image: string): string {
  const known = (RepoDigests ?? []).map((name) => name.split('@'))
  const found = known.find(([name = '']) => repositoryOf(name) === repositoryOf(image))
  return found?.[1] ?? Id
}

export async function inspectImage(docker: Docker, image: string): Promise<Docker.ImageInspectInfo | null> {
  try {
    return await docker.getImage(image).inspect()
  } catch (error) {
    if (statusOf(error) === 404) return null
    throw engineFault('the Docker engine could not look for the image', error)
  }
}

async function pullImage(
  docker: Docker,
  image: string,
  { pull_limit_ms, login, rights, onPull }: ImageOptions,
): Promise<Docker.ImageInspectInfo> {
  if (pull_limit_ms === undefined)
    throw new SandboxImageError('is not on this machine’s Docker engine, and it may not be pulled')
  onPull?.(image)
  try {
    if (login) await rights?.close(image)
    const progress = await docker.pull(image, {
      abortSignal: AbortSignal.timeout(pull_limit_ms),
      ...(login ? { authconfig: authOf(login) } : {}),
    })
    await new Promise<void>((resolve, reject) =>
      docker.modem.followProgress(progress, (error) => (error ? reject(error) : resolve())),
    )
    return await docker.getImage(image).inspect()
  } catch (error) {
    await docker.ping().catch((away) => {
      throw engineFault('the Docker engine does not answer', away)
    })
    const cause = login ? new Error(hideLogin(messageOf(error), login)) : error
    // Its environment names the registry and the secret, so it may know.
    if (login && isRefusal(error))
      throw new SandboxImageError(`cannot be pulled: ${login.host} refuses the secret ${login.name}`, {
        cause,
      })
    // Fixed words: whoever names an image names the machine that answers, too.
    throw new SandboxImageError('is not there and cannot be pulled', { cause })
  }
}

/** What a registry says may quote what it was sent, and goes to the log. */
function hideLogin(said: string, { username, password }: RegistryLogin): string {
  const quoted = JSON.stringify(password).slice(1, -1)
  const sent = [`${username}:${password}`, password].map((text) => Buffer.from(text).toString('base64'))
  const forms = [password, quoted, encodeURIComponent(password.toWellFormed()), ...sent]
  return forms.reduce((text, form) => text.replaceAll(form, '***'), said)
}

/** Looks into the image in a container without volumes, whose links could lead back; it is never started. */
async function lookInto(
  docker: Docker,
  id: string,
  { installation_id, labels }: { installation_id: string; labels: readonly string[] },
): Promise<ImageAccounts> {
  try {
    const container = await docker.createContainer({
      Image: id,
      Entrypoint: ['true'],
      Labels: { ...emptied(labels), [LABELS.installation]: installation_id, [LABELS.part]: LOOK },
    })
    try {
      await requireOwnInit(container)
      return await readAccounts(container)
    } finally {
      await container.remove({ force: true, v: true })
    }
  } catch (error) {
    if (error instanceof SandboxImageError) throw error
    throw engineFault('the Docker engine could not look into the image', error)
  }
}

/**
 * The engine's init is mounted at `/sbin/docker-init` before the volumes are. If the image makes a link of that path
 * or of `/sbin`, what starts as process 1 may be a file of the workspace instead.
 */
async function requireOwnInit(container: Docker.Container): Promise<void> {
  const folder = await followLinks(container, '/sbin')
  if (/^\/(sbin|usr\/s?bin)$/.test(folder) && (await followLinks(container, INIT)) === INIT) return
  throw new SandboxImageError('has links where the system’s programs lie, which sandboxes do not allow')
}
