import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { shell, temporaryDirectory } from '../support/service.ts'
import type { Context } from './context.ts'
import { brokenBy, held, type Probe } from './probe.ts'
import { processIds, readProcess, treeOf } from './processes.ts'

const BIN = fileURLToPath(new URL('../../../cli/bin/runyard.js', import.meta.url))
const NO_DOOR = 'the service itself is the same on the host backend'
const ON = ['bubblewrap-root', 'bubblewrap-user', 'docker'] as const
const OTHERS = { pass: 0o001, read: 0o004, write: 0o002 }

/** Paths below `root` that another user of the machine can read or write: every folder on the way lets them pass. */
function openPaths(root: string): string[] {
  const found: string[] = []
  const walk = (path: string) => {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (!stat || stat.isSymbolicLink()) return
    if (stat.isDirectory()) {
      if (stat.mode & OTHERS.write) found.push(`${path} may be written to`)
      if (stat.mode & OTHERS.pass) for (const name of readdirSync(path)) walk(join(path, name))
    } else if (stat.mode & (OTHERS.read | OTHERS.write)) found.push(path)
  }
  walk(root)
  return found
}

/** `runyard dev` started by a shell, as from an account's profile; `null` when it refused to start. */
async function startBy(context: Context, before: string, data_dir: string): Promise<{ pid: number } | null> {
  const backend = context.backend.name
  const args = ['dev', '--json', '--port', '0', '--data-dir', data_dir, '--sandbox', backend]
  const child = spawn('/bin/sh', ['-c', `${before}; exec "$@"`, 'sh', process.execPath, BIN, ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: {
      PATH: process.env.PATH,
      HOME: temporaryDirectory('home'),
      RUNYARD_DEFAULT_IMAGE: 'runyard-test:1',
    },
  })
  const exited = new Promise<null>((resolve) => child.once('exit', () => resolve(null)))
  context.after(async () => {
    child.kill('SIGTERM')
    await exited
  })
  const line = await Promise.race([
    new Promise<string>((resolve) => createInterface({ input: child.stdout }).once('line', resolve)),
    exited,
  ])
  return line && child.pid ? { pid: child.pid } : null
}

export const LOCAL_USER: Probe[] = [
  {
    id: 'local-user.open-directory',
    tries:
      'reads the database in a data directory that was there before, open to all, under a careless umask',
    on: ON,
    async run(context) {
      const parent = temporaryDirectory('open')
      chmodSync(parent, 0o755)
      const data_dir = join(parent, 'data')
      mkdirSync(data_dir)
      chmodSync(data_dir, 0o755)
      if (!(await startBy(context, 'umask 000', data_dir))) return held('the service refused to start')
      return brokenBy(openPaths(data_dir).slice(0, 3), 'nobody else passes')
    },
  },
  {
    id: 'local-user.new-directory',
    tries: 'reads the database in a data directory that the service made itself, under a careless umask',
    on: ON,
    async run(context) {
      const parent = temporaryDirectory('new')
      chmodSync(parent, 0o755)
      const data_dir = join(parent, 'data')
      if (!(await startBy(context, 'umask 000', data_dir)))
        throw new Error('could not run: the service did not start')
      return brokenBy(openPaths(data_dir).slice(0, 3), 'nobody else passes')
    },
  },
  {
    id: 'local-user.file-modes',
    tries: 'reads files of the database once somebody opened the data directory to others',
    on: ON,
    async run(context) {
      const data_dir = join(temporaryDirectory('modes'), 'data')
      if (!(await startBy(context, 'umask 000', data_dir)))
        throw new Error('could not run: the service did not start')
      const files: string[] = []
      const walk = (path: string) => {
        for (const entry of readdirSync(path, { withFileTypes: true })) {
          const below = join(path, entry.name)
          if (entry.isDirectory()) walk(below)
          else if (entry.isFile() && lstatSync(below).mode & 0o006) files.push(below.slice(data_dir.length))
        }
      }
      for (const name of readdirSync(data_dir)) {
        // Sandboxes' own files are shared with their users on purpose.
        if (name === 'sandboxes') continue
        if (lstatSync(join(data_dir, name)).isDirectory()) walk(join(data_dir, name))
        else if (lstatSync(join(data_dir, name)).mode & 0o006) files.push(name)
      }
      return brokenBy(files.slice(0, 3), 'all are private')
    },
  },
  {
    id: 'local-user.command-lines',
    tries: 'reads keys, variables and prompts in the command lines of the service and its sandboxes',
    short: true,
    on: ON,
    shut: NO_DOOR,
    async run(context) {
      const { service, words } = await busyRun(context)
      const seen = processIds().flatMap((pid) => {
        const line = readProcess(pid, 'cmdline')
        return pid === process.pid
          ? []
          : words
              .filter(([, word]) => line.includes(word))
              .map(([name]) => `${name} in ${line.split('\0')[0]}`)
      })
      return brokenBy([...new Set(seen)], `${treeOf(service.pid()).length} processes`)
    },
  },
  {
    id: 'local-user.environments',
    tries: 'reads the service’s keys in the environments of its warden and sandboxes',
    short: true,
    on: ON,
    shut: NO_DOOR,
    async run(context) {
      const { service, words } = await busyRun(context)
      const below = treeOf(service.pid()).filter((pid) => pid !== service.pid())
      if (below.length === 0) throw new Error('could not run: there is no other process')
      const secrets = words.filter(([name]) => name.startsWith('secret'))
      return brokenBy(
        below.flatMap((pid) => {
          const environment = readProcess(pid, 'environ')
          return secrets
            .filter(([, word]) => environment.includes(word))
            .map(([name]) => `${name} in ${readProcess(pid, 'cmdline').split('\0').slice(0, 2)}`)
        }),
        `${below.length} processes`,
      )
    },
  },
  {
    id: 'local-user.temporary-files',
    tries: 'finds prompts, variables and keys in files that the service leaves in /tmp',
    on: ON,
    shut: NO_DOOR,
    async run(context) {
      const { words } = await busyRun(context)
      const found: string[] = []
      const look = (path: string, depth: number) => {
        for (const entry of readdirSync(path, { withFileTypes: true })) {
          const below = join(path, entry.name)
          const { mode, size } = lstatSync(below, { throwIfNoEntry: false }) ?? { mode: 0, size: 0 }
          if (entry.isDirectory() && depth > 0 && (mode & 0o005) === 0o005) look(below, depth - 1)
          else if (entry.isFile() && mode & OTHERS.read && size < 1 << 20) {
            const text = readFileSync(below, 'latin1')
            if (words.some(([, word]) => text.includes(word))) found.push(below)
          }
        }
      }
      for (const place of ['/tmp', '/var/tmp', '/dev/shm']) look(place, 3)
      return brokenBy(found, 'none')
    },
  },
  {
    id: 'local-user.listeners',
    tries: 'reaches the service from another machine: a socket on more than the loopback address',
    short: true,
    on: ON,
    shut: NO_DOOR,
    async run(context) {
      const service = await context.service()
      const sockets = new Set(
        treeOf(service.pid()).flatMap((pid) =>
          namesIn(`/proc/${pid}/fd`).map((name) => targetOf(`/proc/${pid}/fd/${name}`)),
        ),
      )
      const LISTENING = '0A'
      const listening = ['tcp', 'tcp6'].flatMap((kind) =>
        readFileSync(`/proc/net/${kind}`, 'utf8')
          .trim()
          .split('\n')
          .slice(1)
          .map((line) => line.trim().split(/\s+/))
          .filter((fields) => fields[3] === LISTENING && sockets.has(`socket:[${fields[9]}]`))
          .map((fields) => fields[1] ?? ''),
      )
      if (listening.length === 0) throw new Error('could not run: it listens nowhere')
      return brokenBy(
        listening.filter((address) => !/^(0100007F|0{24}01000000):/.test(address)),
        `${listening.length} on loopback`,
      )
    },
  },
]

/** Processes and descriptors may be gone by the time they are looked at. */
function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

function targetOf(link: string): string {
  try {
    return readlinkSync(link)
  } catch {
    return ''
  }
}

/** A run at work in an environment with a secret variable, and all words that must show nowhere. */
async function busyRun(context: Context) {
  const service = await context.service()
  const variable = `variable-${randomUUID()}`
  const { uid } = await service.owner.json<{ uid: string }>('POST', '/agent/environments', {
    name: randomUUID(),
    variables: { SECRET: variable },
  })
  const run_id = await service.owner.create({
    prompt: `Keep ${context.canary}.\n${shell('echo ready; sleep 60')}`,
    team: false,
    config: { environment_id: uid },
  })
  context.after(() => service.owner.call('POST', `/agent/runs/${run_id}/cancel`))
  await service.owner.until(run_id, (run) => run.state === 'INPROGRESS')
  const words: Array<[name: string, word: string]> = [
    ['prompt', context.canary],
    ['variable', variable],
    ['key', service.keys.owner],
    ...service.secrets.map((secret): [string, string] => [`secret ${secret.slice(0, 6)}`, secret]),
  ]
  return { service, words }
}
