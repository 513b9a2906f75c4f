/**
 * What a command in a sandbox costs, beside the bare programs underneath, measured in turns with them; and how long a run
 * waits from its claim to its first command. `node bench/sandboxes.ts` alone, or as a part of `npm run bench`.
 */
import { execFile, execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import {
  collectExec,
  DEFAULT_LIMITS,
  type Sandbox,
  type SandboxBackend,
} from '../server/src/sandbox/sandbox.ts'
import { startCluster } from '../server/test/support/cluster.ts'
import { markSandboxes } from '../server/test/support/docker-images.ts'
import { findPostgres, startPostgres } from '../server/test/support/postgres-server.ts'
import { type BackendName, openBackend, TEST_IMAGE } from '../server/test/support/sandbox-backends.ts'
import { apiOf, shell, startService, temporaryDirectory } from '../server/test/support/service.ts'
import { writeFigures } from './figures.ts'

const COLD_ROUNDS = 30
const WARM_ROUNDS = 200
const AT_ONCE = 4
const PAUSE_MS = 2_000
const BWRAP = '--ro-bind / / --unshare-all --proc /proc --dev /dev true'.split(' ')
const start = promisify(execFile)

interface Row {
  what: string
  times: readonly number[]
  beside: string
  base: readonly number[]
}

/** The table, as Markdown; without Docker where it does not answer. */
export async function measureSandboxes(): Promise<string> {
  const docker = hasDocker()
  const rows = [...(await measureBackend('bubblewrap')), ...(docker ? await measureBackend('docker') : [])]
  return [
    '| what | p50 ms | p95 ms | beside |',
    '|---|---|---|---|',
    ...rows.map(({ what, times, beside, base }) => {
      const ratio = (quantile(times, 0.5) / quantile(base, 0.5)).toFixed(2)
      return `| ${what} | ${quantile(times, 0.5).toFixed(1)} | ${quantile(times, 0.95).toFixed(1)} | ${ratio} × ${beside} |`
    }),
    '',
    `${COLD_ROUNDS} rounds cold, ${WARM_ROUNDS} warm, the bare programs in turns with ours.` +
      (docker ? ` Docker: ${engineVersion()}, no network, default limits.` : ' No Docker engine answered.') +
      ' `node bench/sandboxes.ts --write`',
  ].join('\n')
}

async function measureBackend(name: BackendName): Promise<Row[]> {
  const data_dir = temporaryDirectory('bench-sandboxes')
  const backend = await openBackend(name, { data_dir, installation_id: randomUUID() })
  const docker = name === 'docker'
  const bare_cold = docker
    ? (): Promise<unknown> => start('docker', ['run', '--rm', TEST_IMAGE, 'true'])
    : () => start('bwrap', BWRAP)
  const [bare, cold] = await inTurns(COLD_ROUNDS, bare_cold, () => coldCommand(backend))

  const sandbox = await create(backend)
  const plain = docker ? execFileSync('docker', ['run', '--detach', TEST_IMAGE, 'sleep', '1000']) : null
  const container = String(plain).trim()
  const bare_warm = docker ? (): Promise<unknown> => start('docker', ['exec', container, 'true']) : bare_cold
  const [bare_again, warm] = await inTurns(WARM_ROUNDS, bare_warm, () => runTrue(sandbox))
  const together: number[] = []
  for (let round = 0; round < WARM_ROUNDS / AT_ONCE; round++)
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => together.push(await timed(() => runTrue(sandbox)))),
    )
  const tight: number[] = []
  for (let round = 0; round < WARM_ROUNDS; round++) tight.push(await timed(() => runTrue(sandbox)))
  await sandbox.destroy()
  if (plain) execFileSync('docker', ['rm', '--force', container], { stdio: 'ignore' })

  const [one, other] = docker
    ? ['`docker run --rm … true`', '`docker exec … true`']
    : ['bare `bwrap … true`', 'bare `bwrap … true`']
  const row = (what: string, times: readonly number[], beside: string, base: readonly number[]): Row => ({
    what: `${docker ? 'Docker' : 'bubblewrap'}: ${what}`,
    ...{ times: sorted(times), beside, base: sorted(base) },
  })
  const claims: Row[] = []
  for (const layout of findPostgres() ? (['PGlite', 'PostgreSQL'] as const) : (['PGlite'] as const)) {
    const measure = (pause_ms?: number) => measureClaims(name, layout, pause_ms)
    claims.push(row(`claim → first command, ${layout}`, await measure(), one, bare))
    claims.push(row('the same where a sandbox was made in advance', await measure(PAUSE_MS), one, bare))
  }
  return [
    row(one, bare, 'itself', bare),
    ...(docker ? [row(other, bare_again, 'itself', bare_again)] : []),
    row('sandbox made, first command ended', cold, one, bare),
    ...claims,
    row('warm command, in turns with the bare one', warm, other, bare_again),
    row('warm commands back to back', tight, other, bare_again),
    row(`warm commands, ${AT_ONCE} at once`, together, other, bare_again),
  ]
}

const create = (backend: SandboxBackend): Promise<Sandbox> =>
  backend.create({ run_id: randomUUID(), attempt: 1, limits: DEFAULT_LIMITS, egress: 'none', env: {} })

async function coldCommand(backend: SandboxBackend): Promise<number> {
  const began = performance.now()
  const sandbox = await create(backend)
  await runTrue(sandbox)
  const took = performance.now() - began
  await sandbox.destroy()
  return took
}

async function runTrue(sandbox: Sandbox): Promise<void> {
  const { exit } = await collectExec(sandbox.exec({ command: 'true' }))
  if (exit.code !== 0) throw new Error(`The command ended with ${JSON.stringify(exit)}.`)
}

type Layout = 'PGlite' | 'PostgreSQL'

/** `dev`, or `serve` and `worker` on a PostgreSQL of their own. */
async function openService(layout: Layout, sandbox: BackendName, env: Record<string, string>) {
  if (layout === 'PGlite') {
    const service = await startService({ sandbox, env })
    return { api: apiOf(service), stop: () => service.stop() }
  }
  const postgres = await startPostgres()
  const cluster = await startCluster(postgres.url, env)
  await cluster.worker('default', { sandbox })
  const stop = async () => {
    await cluster.stop()
    await postgres.stop()
  }
  return { api: cluster.api, stop }
}

/** From the event that says CLAIMED to the first output of a command. `pause_ms`: in which a sandbox is made in advance. */
async function measureClaims(sandbox: BackendName, layout: Layout, pause_ms = 0): Promise<number[]> {
  const env = { RUNYARD_DEFAULT_IMAGE: TEST_IMAGE, RUNYARD_WARM_SANDBOXES: pause_ms > 0 ? '1' : '0' }
  const removeSandboxes = sandbox === 'docker' ? markSandboxes() : () => undefined
  const { api, stop } = await openService(layout, sandbox, env)
  const times: number[] = []
  // The first has none made in advance, and a process that has just started is slower than it will be.
  for (let round = -1; round < COLD_ROUNDS; round++) {
    if (round >= 0) await wait(pause_ms)
    const run_id = await api.create({ prompt: shell('echo hello') })
    await api.ended(run_id)
    const events = await api.events(run_id)
    const claimed = events.find((event) => event.type === 'run.state' && event.data.state === 'CLAIMED')
    const output = events.find((event) => event.type === 'tool.output')
    if (!claimed || !output) throw new Error('The run has no output.')
    if (round >= 0) times.push(Date.parse(output.occurred_at) - Date.parse(claimed.occurred_at))
  }
  await stop()
  removeSandboxes()
  return times
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  const own = await work()
  return typeof own === 'number' ? own : performance.now() - began
}

/** The times of both, each a round after the other; the first round warms up. */
async function inTurns(
  rounds: number,
  one: () => Promise<unknown>,
  other: () => Promise<unknown>,
): Promise<[number[], number[]]> {
  const times: [number[], number[]] = [[], []]
  for (let round = 0; round <= rounds; round++) {
    const pair = [await timed(one), await timed(other)] as const
    if (round > 0) for (const place of [0, 1] as const) times[place].push(pair[place])
  }
  return times
}

const sorted = (times: readonly number[]): number[] => times.toSorted((a, b) => a - b)
const quantile = (times: readonly number[], q: number): number =>
  times[Math.floor((times.length - 1) * q)] ?? Number.NaN

function hasDocker(): boolean {
  try {
    execFileSync('docker', ['image', 'inspect', TEST_IMAGE], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const engineVersion = (): string =>
  execFileSync('docker', ['version', '--format', '{{.Server.Version}}'], { encoding: 'utf8' }).trim()

if (import.meta.main) {
  const table = await measureSandboxes()
  console.log(table)
  if (process.argv.includes('--write')) writeFigures('sandboxes', table)
}
