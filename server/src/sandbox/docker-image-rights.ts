import { createHash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type Docker from 'dockerode'
import { statusOf } from './docker-engine.ts'
import { authOf, isRefusal, repositoryOf } from './docker-image-name.ts'
import { type RegistryLogin, SandboxImageError } from './sandbox.ts'

/** An answer of a registry counts for so long, and longer while the registry is away. */
const FRESH_MS = 5 * 60_000
const LIMIT_MS = 30_000
export const CLOSED_LABEL = 'runyard.closed'

/**
 * Who may use an image that the engine has because somebody's password opened its registry. The engine gives it to everybody, so
 * the registry is asked at each use. Which repositories these are is noted at the engine, as empty volumes, since every worker
 * beside it must know, also after a restart.
 */
export class ImageRights {
  readonly #docker: Docker
  /** When a registry last let somebody have an image. */
  readonly #allowed = new Map<string, number>()

  constructor(docker: Docker) {
    this.#docker = docker
  }

  /** To be called before it is pulled with a login, so that nobody finds it unnoted. */
  async close(image: string): Promise<void> {
    const repository = repositoryOf(image)
    await this.#docker.createVolume({ Name: noteOf(repository), Labels: { [CLOSED_LABEL]: repository } })
  }

  /** Throws `SandboxImageError` where the registry would not give the image. `digest`: of the one that the engine has. */
  async require(image: string, digest: string, login: RegistryLogin | undefined): Promise<void> {
    const repository = repositoryOf(image)
    if (!(await this.#isClosed(repository))) return
    const asked = createHash('sha256')
      .update(JSON.stringify([repository, digest, login]))
      .digest('hex')
    const allowed_at = this.#allowed.get(asked)
    if (allowed_at !== undefined && performance.now() - allowed_at < FRESH_MS) return
    try {
      await this.#ask(`${image.replace(/@.*/, '').replace(/:[^/]*$/, '')}@${digest}`, login)
      this.#allowed.set(asked, performance.now())
    } catch (error) {
      // Some say to those who may not that there is no such thing.
      if (!isRefusal(error) && ![401, 403, 404].includes(statusOf(error))) {
        if (allowed_at !== undefined) return
        throw new SandboxImageError(
          'was pulled with a password, and its registry does not say now whether this environment may use it',
        )
      }
      this.#allowed.delete(asked)
      throw new SandboxImageError(
        login
          ? `may not be used: ${login.host} refuses the secret ${login.name}`
          : 'was pulled with a password, and this environment has no secret for its registry',
      )
    }
  }

  async #isClosed(repository: string): Promise<boolean> {
    return this.#docker
      .getVolume(noteOf(repository))
      .inspect()
      .then(
        () => true,
        (error) => {
          if (statusOf(error) === 404) return false
          throw error
        },
      )
  }

  async #ask(image: string, login: RegistryLogin | undefined): Promise<void> {
    const over = new AbortController()
    const late = wait(LIMIT_MS, undefined, { signal: over.signal }).then(() => {
      throw new Error('The registry takes too long.')
    })
    late.catch(() => {})
    const answer = this.#docker.getImage(image).distribution(login ? { authconfig: authOf(login) } : {})
    answer.catch(() => {})
    try {
      await Promise.race([answer, late])
    } finally {
      over.abort()
    }
  }
}

const noteOf = (repository: string): string =>
  `runyard-closed-${createHash('sha256').update(repository).digest('hex').slice(0, 32)}`
