/** What this machine and its settings offer the service. Looks at the same things as a start does, and changes nothing. */
import { existsSync, lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { release, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { readDiskSpace } from './blobs/disk-space.ts'
import type { Config } from './config.ts'
import { AppError } from './contract/error.ts'
import { isServed } from './control.ts'
import { ControlPlaneRefusal } from './control-plane/remote-calls.ts'
import { checkDataDir } from './data-dir.ts'
import { examineAddress } from './doctor-address.ts'
import { MODEL_VARIABLES } from './harness/model-variables.ts'
import { openModels } from './harness/models.ts'
import { listInstalled } from './installed-agents.ts'
import { openBlobs } from './open-blobs.ts'
import { openRemotePlane } from './remote-plane.ts'
import { DEFAULT_IMAGE } from './sandbox/default-image.ts'
import { ALLOW_FALLBACK, whyNoFallback } from './sandbox/fallback.ts'
import {
  examineBubblewrap,
  examineDocker,
  examineKubernetes,
  type Finding,
  type Prospect,
} from './sandbox/prospects.ts'
import { userName } from './sandbox/user-name.ts'
import { readDatabaseState } from './store/database-state.ts'
import { openPostgres } from './store/db.ts'
import { isUnavailable } from './store/faults.ts'

export interface Diagnosis extends Finding {
  /** What it is about: `Database`, `Docker`, … */
  area: string
}

const GiB = 1024 ** 3
const TRIAL = 'doctor-'
const TRIAL_AGE_MS = 3_600_000

/** Everything that was found, as it is found; a `bad` finding means that the service does not start, or cannot work. */
export async function* diagnose(configure: () => Config): AsyncGenerator<Diagnosis> {
  yield* under('Machine', [describeMachine()])
  let config: Config
  try {
    config = configure()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const fix = 'Correct the variable; docs/configuration.md has them all.'
    return yield* under('Settings', [{ state: 'bad', says: error.detail, fix }])
  }
  yield* under('Data directory', await examineDataDir(config))
  if (config.server !== undefined) yield* under('Server', await examineServer(config))
  else {
    yield* under('Database', await examineDatabase(config))
    yield* under('Files', await examineFiles(config))
  }
  yield* examineSandboxes(config)
  yield* under('Retention', [describeRetention(config)])
  yield* under('Models', await examineModels(config))
  yield* under('Agents', examineAgents(config))
  yield* under('Address', await examineAddress(config))
}

function* under(area: string, findings: readonly Finding[]): Generator<Diagnosis> {
  for (const finding of findings) yield { area, ...finding }
}

function describeMachine(): Finding {
  const who = process.getuid?.() === 0 ? 'root' : `the user ${userName()}`
  return {
    state: 'good',
    says: `${process.platform} ${release()} (${process.arch}), Node ${process.versions.node}, as ${who}.`,
  }
}

async function examineDataDir({ data_dir, min_free_percent }: Config): Promise<Finding[]> {
  const findings: Finding[] = []
  try {
    const is_there = checkDataDir(data_dir)
    const says = is_there ? `${data_dir} is there.` : `${data_dir} is not there yet; a start makes it.`
    findings.push({ state: 'good', says })
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return [{ state: 'bad', says: error.detail }]
  }
  let nearest = data_dir
  while (!existsSync(nearest)) nearest = dirname(nearest)
  const { free_bytes, free_percent, scarce } = await readDiskSpace(nearest)
  const free = `${(free_bytes / GiB).toFixed(1)} GiB free, ${free_percent.toFixed(0)} % of its ${scarce === 'files' ? 'files' : 'room'}`
  if (free_percent >= min_free_percent) findings.push({ state: 'good', says: `Its disk has ${free}.` })
  else
    findings.push({
      state: 'bad',
      says: `Its disk has only ${free}: no run is claimed below ${min_free_percent} %.`,
      fix: 'Free some, choose another disk with RUNYARD_DATA_DIR, or lower RUNYARD_MIN_FREE_PERCENT.',
    })
  return findings
}

/** As a worker over HTTPS finds it at its start. */
async function examineServer(config: Config): Promise<Finding[]> {
  const { server } = config
  try {
    const { pool } = await (await openRemotePlane(config)).welcome()
    const found: Finding = {
      state: 'good',
      says: `${server} answers, and the pool key is for the pool ${pool}.`,
    }
    if (!server?.startsWith('http:')) return [found]
    const fix = 'Put a certificate in front of the server, and give its https address.'
    return [
      found,
      { state: 'weak', says: 'It is asked without TLS: keys and secrets travel in the clear.', fix },
    ]
  } catch (error) {
    if (error instanceof AppError) return [{ state: 'bad', says: error.detail }]
    if (error instanceof ControlPlaneRefusal) return [{ state: 'bad', says: `${server}: ${error.message}` }]
    if (!isUnavailable(error)) throw error
    const fix = 'Check the address in RUNYARD_SERVER, and whether this machine may connect to it.'
    return [{ state: 'bad', says: `${server} does not answer.`, fix }]
  }
}

async function examineDatabase({ database_url, data_dir }: Config): Promise<Finding[]> {
  if (!database_url) {
    const says = (await isServed(data_dir))
      ? 'Embedded (PGlite), and a `runyard dev` works with it now.'
      : 'Embedded (PGlite), for `runyard dev`.'
    return [{ state: 'good', says: `${says} \`serve\` and \`worker\` take PostgreSQL, by DATABASE_URL.` }]
  }
  const store = openPostgres({ url: database_url, max: 1, application_name: 'runyard-doctor' })
  try {
    const { reason, detail } = await readDatabaseState(store)
    if (reason === null)
      return [{ state: 'good', says: `PostgreSQL answers at ${store.address?.shown}, up to date.` }]
    // It says what to do.
    return [{ state: 'bad', says: detail }]
  } finally {
    await store.close()
  }
}

async function examineFiles(config: Config): Promise<Finding[]> {
  const { s3, secret_key } = config
  if (!s3) return [{ state: 'good', says: 'Files of runs are kept in the data directory.' }]
  try {
    await openBlobs(config)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return [{ state: 'bad', says: error.detail }]
  }
  const findings: Finding[] = [
    {
      state: 'good',
      says: `Files of runs are kept in the bucket ${s3.bucket}; listing, writing, reading and deleting work.`,
    },
  ]
  if (!secret_key)
    findings.push({
      state: 'weak',
      says: 'The secret key is a file of the data directory, which other machines do not have.',
      fix: 'Set RUNYARD_SECRET_KEY, the same for all processes.',
    })
  return findings
}

function describeRetention({ retention }: Config): Finding {
  const kinds = { run: 'Runs', workspace: 'Workspaces', artifact: 'Artifacts' } as const
  const [first, ...others] = (['run', 'workspace', 'artifact'] as const).map((kind) => {
    const days = retention[kind]
    return `${kinds[kind]} are kept ${days === null ? 'for ever' : `for ${days} days`}`
  })
  const says = `${[first, ...others.map((text) => text.toLowerCase())].join(', ')}; environments may have fewer days.`
  return { state: 'good', says }
}

async function* examineSandboxes(config: Config): AsyncGenerator<Diagnosis> {
  const { sandbox: requested, default_image = DEFAULT_IMAGE } = config
  if (requested === 'host')
    return yield* under('Sandbox', [
      {
        state: 'weak',
        says: 'Commands run on the machine itself, without isolation (RUNYARD_SANDBOX=host).',
        fix: 'Leave the setting out for Docker or bubblewrap.',
      },
    ])
  if (requested === 'kubernetes') {
    const { findings, works } = await examineKubernetes(default_image, config.kubernetes)
    yield* under('Kubernetes', findings)
    return yield* under('Sandbox', [
      works
        ? { state: 'good', says: 'Runs get a Pod each, as RUNYARD_SANDBOX says.' }
        : {
            state: 'bad',
            says: 'No run gets a Pod as it is.',
            fix: 'Do what is said above.',
          },
    ])
  }
  const docker = requested === 'bubblewrap' ? null : await examineDocker(default_image)
  if (docker) yield* under('Docker', requested ? docker.findings : demote(docker))
  const bubblewrap = requested === 'docker' ? null : await tryBubblewrap(config)
  if (bubblewrap) yield* under('bubblewrap', requested ? bubblewrap.findings : demote(bubblewrap))
  const used = { data_dir: config.data_dir, allow_fallback: config.allow_sandbox_fallback }
  const image = config.default_image ? { default_image: config.default_image } : {}
  const changes =
    docker && !docker.works && !requested && bubblewrap?.works
      ? await whyNoFallback({ ...used, ...image })
      : null
  if (changes !== null)
    return yield* under('Sandbox', [
      {
        state: 'bad',
        says: `Docker does not work, and bubblewrap does not take its place: ${changes}.`,
        fix: ALLOW_FALLBACK,
      },
    ])
  const chosen = docker?.works ? 'Docker' : bubblewrap?.works ? 'bubblewrap' : null
  const why = requested ? 'as RUNYARD_SANDBOX says' : 'the strongest that works here'
  yield* under('Sandbox', [
    chosen
      ? { state: 'good', says: `Runs get ${chosen}, ${why}.` }
      : {
          state: 'bad',
          says: 'No sandbox works here as it is.',
          fix: 'Do what is said above for one of them.',
        },
  ])
  if (chosen !== 'bubblewrap' || requested || (await whyNoFallback({ ...used, is_shared: true })) === null)
    return
  yield* under('Sandbox', [
    {
      state: 'weak',
      says: 'A `worker` does not start so: this machine has Docker, and it does not work.',
      fix: ALLOW_FALLBACK,
    },
  ])
}

/** What one of two cannot do is no fault as long as the other can. */
const demote = ({ findings }: Prospect): Finding[] =>
  findings.map((finding) => ({ ...finding, state: finding.state === 'bad' ? 'weak' : finding.state }))

/** In a directory of its own, where the sandboxes of the service would lie: who may pass there matters. */
async function tryBubblewrap({ data_dir }: Config): Promise<Prospect> {
  const parent = canBeUsed(data_dir) ? data_dir : tmpdir()
  let directory: string
  try {
    removeOldTrials(parent)
    directory = mkdtempSync(join(parent, TRIAL))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const fix = 'Free some room there, or have it written to by this user.'
    return {
      works: false,
      findings: [{ state: 'bad', says: `No directory for a trial can be made: ${why}.`, fix }],
    }
  }
  try {
    return await examineBubblewrap(directory)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** What is wrong with a data directory is said where that is looked at. */
function canBeUsed(data_dir: string): boolean {
  try {
    return checkDataDir(data_dir)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return false
  }
}

function removeOldTrials(parent: string): void {
  for (const name of readdirSync(parent).filter((entry) => entry.startsWith(TRIAL))) {
    const found = lstatSync(join(parent, name), { throwIfNoEntry: false })
    if (found && found.uid === process.getuid?.() && Date.now() - found.mtimeMs > TRIAL_AGE_MS)
      rmSync(join(parent, name), { recursive: true, force: true })
  }
}

async function examineModels({ models: settings }: Config): Promise<Finding[]> {
  const models = openModels(settings)
  if (!models.configured)
    return [
      {
        state: 'weak',
        says: 'No model provider: prompts run as runbooks, the shell blocks in them step by step.',
        fix: `Set ${MODEL_VARIABLES}.`,
      },
    ]
  const [checks, chosen] = await Promise.all([models.check(), models.resolve()])
  const choice: Finding =
    'model_id' in chosen
      ? { state: 'good', says: `Runs that name no model get ${chosen.model_id}.` }
      : { state: 'bad', says: chosen.reason, fix: 'Set RUNYARD_DEFAULT_MODEL to one that is there.' }
  const answers = checks.map(({ provider, base_url, models: { length }, failure }): Finding => {
    if (failure === undefined)
      return { state: 'good', says: `${provider} answers at ${base_url} and lists ${length} models.` }
    const fix = fixOf(failure)
    return { state: 'bad', says: `${provider} at ${base_url} ${failure}.`, fix }
  })
  const fallbacks = await Promise.all((settings.fallback_models ?? []).map((id) => models.resolve(id)))
  const useless = fallbacks.flatMap((found): Finding[] =>
    'reason' in found
      ? [{ state: 'bad', says: found.reason, fix: 'Name another one in RUNYARD_FALLBACK_MODELS.' }]
      : [],
  )
  // Where nobody answers that is said, and is all there is to say.
  return checks.every(({ failure }) => failure !== undefined) ? answers : [...answers, choice, ...useless]
}

function fixOf(failure: string): string {
  if (failure.startsWith('refuses')) return 'Give the service another key.'
  if (failure.startsWith('cannot be asked'))
    return 'Give the machine a role, or the service a key: docs/models.md.'
  if (failure.startsWith('has no deployments')) return 'Name them in AZURE_OPENAI_DEPLOYMENTS.'
  return 'Check the network and the address; a provider that is only away for now needs nothing.'
}

/** Images may have others. */
function examineAgents(config: Config): Finding[] {
  const agents = listInstalled(config)
  const name = ({ name, installed, version }: (typeof agents)[number]) =>
    installed === version
      ? `${name} ${version}`
      : `${name} ${installed} (this version of Runyard has ${version})`
  const there = agents.filter(({ installed }) => installed !== null).map(name)
  const missing = agents.filter(({ installed }) => installed === null).map((agent) => agent.name)
  const says = [
    there.length > 0 ? `For all sandboxes: ${there.join(', ')}.` : 'None is installed for all sandboxes.',
    ...(missing.length > 0 ? [`\`runyard agents install\` can add ${missing.join(', ')}.`] : []),
  ]
  return [{ state: 'good', says: says.join(' ') }]
}
