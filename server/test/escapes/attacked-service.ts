import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type BackendName, TEST_IMAGE } from '../support/sandbox-backends.ts'
import { seedKeys } from '../support/seed-keys.ts'
import { apiOf, type DevProcess, shell, startDevProcess, temporaryDirectory } from '../support/service.ts'
import { readProcess, treeOf } from './processes.ts'

type Api = ReturnType<typeof apiOf>

/** `runyard dev` with an owner who keeps something and an attacker who wants it, both members. */
export interface AttackedService {
  base_url: string
  origin: string
  data_dir: string
  /** Where local repositories may be; the data directory is in it, as it is where `dev` was started. */
  repositories: string
  admin: Api
  owner: Api
  attacker: Api
  viewer: Api
  keys: { admin: string; owner: string; attacker: string; viewer: string }
  /** What the service was given and must not show: a provider's key and its own secret. */
  secrets: string[]
  /** A personal run of the owner, ended, with the owner's words everywhere; and one that is at work. */
  victim(): Promise<Victim>
  pid(): number
  wardens(): number[]
  log(): string
  /** One more, with a data directory of its own. */
  another(env?: Record<string, string>): Promise<AttackedService>
  kill(signal: NodeJS.Signals): Promise<void>
  /** Starts again on the same data directory. */
  again(): Promise<void>
  stop(): Promise<void>
}

export interface Victim {
  /** Stands in the prompt, the title, the output, the metadata and the artifact. */
  canary: string
  run_id: string
  conversation_id: string
  uid: string
  artifact_uid: string
  busy: string
}

/** With `open` the attacker has the owner's key, so that whatever protects the owner shows. */
export async function startAttackedService(
  backend: BackendName,
  open: boolean,
  env: Record<string, string> = {},
): Promise<AttackedService> {
  const repositories = temporaryDirectory('repositories')
  const data_dir = join(repositories, '.runyard')
  mkdirSync(data_dir, { mode: 0o700 })
  const keys = await seedKeys(data_dir, {
    admin: { role: 'admin' },
    owner: { role: 'member' },
    attacker: { role: 'member' },
    viewer: { role: 'viewer' },
  })
  if (open) keys.attacker = keys.viewer = keys.owner
  const secrets = [`sk-${randomUUID()}`, `secret-key-${randomUUID()}`] as const
  const start = (): Promise<DevProcess> =>
    startDevProcess({
      data_dir,
      sandbox: backend,
      env: {
        RUNYARD_LOCAL_REPOS: repositories,
        RUNYARD_EGRESS: 'open',
        RUNYARD_SLOTS: '4',
        RUNYARD_GRACE_SECONDS: '0',
        RUNYARD_DEFAULT_IMAGE: TEST_IMAGE,
        RUNYARD_SECRET_KEY: secrets[1],
        // Nobody listens there: no provider is needed.
        OPENAI_API_KEY: secrets[0],
        OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
        ...env,
      },
    })
  let service = await start()
  let victim: Promise<Victim> | null = null
  const as = (api_key: string): Api => {
    const api = () => apiOf({ base_url: service.base_url, api_key })
    // Asked for at each call: the port is another after the next start.
    return {
      call: (...args) => api().call(...args),
      json: (...args) => api().json(...args),
      get: (...args) => api().get(...args),
      until: (...args) => api().until(...args),
      ended: (run_id, seconds = 60) => api().ended(run_id, seconds),
      events: (...args) => api().events(...args),
      found: (...args) => api().found(...args),
      // With a provider's key the service would ask a model.
      create: ({ config, ...body }: { config?: object }) =>
        api().create({ ...body, config: { harness: { type: 'runbook' }, ...config } }),
    }
  }
  const attacked: AttackedService = {
    get base_url() {
      return service.base_url
    },
    get origin() {
      return new URL(service.base_url).origin
    },
    data_dir,
    repositories,
    admin: as(keys.admin),
    owner: as(keys.owner),
    attacker: as(keys.attacker),
    viewer: as(keys.viewer),
    keys,
    secrets: [...secrets],
    victim: () => {
      victim ??= makeVictim(attacked)
      return victim
    },
    pid: () => service.pid,
    wardens: () =>
      treeOf(service.pid).filter(
        (pid) => pid !== service.pid && readProcess(pid, 'cmdline').includes('warden-process'),
      ),
    log: () => service.log(),
    another: (more) => startAttackedService(backend, open, more),
    kill: (signal) => service.kill(signal),
    async again() {
      service = await start()
    },
    stop: () => service.stop(),
  }
  return attacked
}

async function makeVictim({ owner }: AttackedService): Promise<Victim> {
  const canary = `victim-${randomUUID()}`
  const run_id = await owner.create({
    prompt: `Keep ${canary}.\n${shell(`mkdir artifacts; echo ${canary} | tee artifacts/secret.txt secret.txt`)}`,
    title: `About ${canary}`,
    team: false,
    metadata: { secret: canary },
  })
  const { conversation_id, creator, artifacts } = await owner.ended(run_id)
  const [artifact] = artifacts.flatMap(({ data }) => ('artifact_uid' in data ? [data.artifact_uid] : []))
  if (!artifact) throw new Error('could not run: the owner’s run has no artifact')
  const busy = await owner.create({ prompt: `Keep ${canary}.\n${shell('sleep 600')}`, team: false })
  await owner.until(busy, (run) => run.state === 'INPROGRESS')
  return { canary, run_id, conversation_id, uid: creator.uid, artifact_uid: artifact, busy }
}
