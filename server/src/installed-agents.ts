/** Programs of agents that the operator has installed for sandboxes, from the lock files of `server/agents`. */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Config } from './config.ts'
import { AppError } from './contract/error.ts'
import { prepareDataDir } from './data-dir.ts'
import { ACP_AGENTS } from './harness/acp-agents.ts'
import { offersAuthorities } from './sandbox/authorities.ts'
import { isEngineHere } from './sandbox/docker-uplinks.ts'

const LOCKS = fileURLToPath(new URL('../agents/', import.meta.url))
/** What npm may know: nothing of the service's own settings, which hold keys. */
const PASSED =
  /^(PATH|HOME|TMPDIR|LANG|SSL_CERT_\w+|NODE_EXTRA_CA_CERTS|(https?|no|all)_proxy|npm_config_\w+)$/i
const MAX_SAID = 2_000
const STAGE = '.stage-'
const STAGE_AGE_MS = 3_600_000

export const INSTALLABLE = ['claude', 'codex', 'gemini', 'goose', 'opencode', 'qwen'] as const
export type InstallableAgent = (typeof INSTALLABLE)[number]

export interface InstalledAgent {
  name: InstallableAgent
  /** What runs of it start in their sandboxes. */
  program: string
  /** Of its package, as the lock file has it. */
  version: string
  /** What is installed; `null`: nothing. */
  installed: string | null
}

type Place = Pick<Config, 'data_dir' | 'tools_dir'>

/** The folder that sandboxes have at `/opt/runyard`: the operator's own, else one of the data directory. */
export const agentsFolder = ({ data_dir, tools_dir }: Place): string => tools_dir ?? join(data_dir, 'agents')

/** The folder; that of the data directory is made, so that sandboxes have what is installed there later. */
export function makeAgentsFolder(place: Place): string {
  const folder = agentsFolder(place)
  if (place.tools_dir !== undefined) return folder
  prepareDataDir(place.data_dir)
  makeFolders(folder)
  return folder
}

/** The folder, where anything is in it that Docker can offer: an engine on another machine could not. */
export function findAgentsFolder(place: Place): string | undefined {
  const folder = agentsFolder(place)
  if (place.tools_dir !== undefined) return folder
  const bin = join(folder, 'bin')
  const has_programs = existsSync(bin) && readdirSync(bin).length > 0
  return has_programs || (offersAuthorities(folder) && isEngineHere()) ? folder : undefined
}

/** What can be installed, and what is. */
export const listInstalled = (place: Place): InstalledAgent[] =>
  INSTALLABLE.map((name) => {
    const program = programOf(name)
    const folder = agentsFolder(place)
    const { dependencies = {} } = readJson(join(LOCKS, name, 'package.json')) ?? {}
    const [[, version = ''] = []] = Object.entries(dependencies)
    const known = readJson(join(folder, name, 'package.json'))?.dependencies
    const there = existsSync(join(folder, 'bin', program))
    return { name, program, version, installed: there ? (Object.values(known ?? {})[0] ?? '') : null }
  })

/**
 * Installs one, in place of what is there of it. No script of a package is run. Throws `resource_unavailable` with what npm said;
 * what was there then stays.
 */
export async function installAgent(place: Place, name: InstallableAgent): Promise<InstalledAgent> {
  const folder = makeAgentsFolder(place)
  makeFolders(folder)
  removeOldStages(folder)
  const stage = join(folder, `${STAGE}${randomUUID()}`)
  try {
    mkdirSync(stage)
    for (const file of ['package.json', 'package-lock.json'])
      cpSync(join(LOCKS, name, file), join(stage, file))
    await runNpm(stage, name)
    const program = programOf(name)
    const found = findBinary(stage, name, program)
    if (!existsSync(join(stage, found))) throw failed(name, `It has no program ${found}.`)
    chmodSync(stage, 0o755)
    const old = join(folder, `${STAGE}${randomUUID()}`)
    const home = join(folder, name)
    if (existsSync(home)) renameSync(home, old)
    renameSync(stage, home)
    const link = join(folder, 'bin', program)
    rmSync(link, { force: true })
    symlinkSync(join('..', name, found), link)
    rmSync(old, { recursive: true, force: true })
  } finally {
    rmSync(stage, { recursive: true, force: true })
  }
  const installed = listInstalled(place).find((agent) => agent.name === name)
  if (!installed) throw failed(name, 'It is not there.')
  return installed
}

const programOf = (name: InstallableAgent): string =>
  ACP_AGENTS.find((agent) => agent.name === name)?.command[0] ?? name

/** Below the folder of the agent. opencode's own link is made by a script; what it would lead to is one of these. */
function findBinary(folder: string, name: InstallableAgent, program: string): string {
  const npms = join('node_modules', '.bin', program)
  if (name === 'goose')
    return join('node_modules', '@aaif', `goose-binary-linux-${process.arch}`, 'bin', 'goose')
  if (name !== 'opencode') return npms
  const plain = `opencode-linux-${process.arch}`
  const wanted = hasOldProcessor() ? [`${plain}-baseline`, plain] : [plain, `${plain}-baseline`]
  const places = wanted.map((package_name) => join('node_modules', package_name, 'bin', 'opencode'))
  return places.find((place) => existsSync(join(folder, place))) ?? npms
}

function hasOldProcessor(): boolean {
  try {
    return process.arch === 'x64' && !/\bavx2\b/.test(readFileSync('/proc/cpuinfo', 'utf8'))
  } catch {
    return false
  }
}

/** For sandboxes, which are Linux whatever this machine is, and with other users than this one. */
async function runNpm(cwd: string, name: InstallableAgent): Promise<void> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([key]) => PASSED.test(key)))
  // Not `npm ci`: it refuses locks that lack packages for other systems.
  const args = ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const before = process.umask(0o022)
  const child = spawn('npm', [...args, '--os=linux', `--cpu=${process.arch}`, '--libc=glibc'], {
    ...{ cwd, env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  process.umask(before)
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => {
      said = (said + data.toString()).slice(-MAX_SAID)
    })
  const [code] = (await once(child, 'close').catch((error: unknown) => {
    throw failed(name, `npm cannot be started: ${error instanceof Error ? error.message : String(error)}`)
  })) as [number | null]
  if (code !== 0) throw failed(name, `npm ended with ${code}. It said: ${said.trim()}`)
}

const failed = (name: string, why: string) =>
  new AppError('resource_unavailable', `The agent ${name} was not installed. ${why}`)

/** Other users than this one read them in their sandboxes. */
function makeFolders(folder: string): void {
  for (const each of [folder, join(folder, 'bin')]) {
    mkdirSync(each, { recursive: true })
    chmodSync(each, 0o755)
  }
}

/** Of installations that were killed. */
function removeOldStages(folder: string): void {
  for (const entry of readdirSync(folder).filter((each) => each.startsWith(STAGE))) {
    const found = lstatSync(join(folder, entry), { throwIfNoEntry: false })
    if (found && Date.now() - found.mtimeMs > STAGE_AGE_MS)
      rmSync(join(folder, entry), { recursive: true, force: true })
  }
}

function readJson(file: string): { dependencies?: Record<string, string> } | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as { dependencies?: Record<string, string> }
  } catch {
    return null
  }
}
