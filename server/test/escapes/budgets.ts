import { PassThrough } from 'node:stream'
import { DEFAULT_LIMITS, type SandboxLimits } from '../../src/sandbox/sandbox.ts'
import { type Context, program, readUntil } from './context.ts'
import { broken, held, type Probe } from './probe.ts'

const ON = ['bubblewrap-root', 'bubblewrap-user', 'docker', 'open'] as const

/** Takes all it gets in a sandbox of its own and holds it until the probe has ended; how much it was. */
async function take(
  context: Context,
  [kind, most, processes]: [kind: string, most: number, processes: number],
  limits: Partial<SandboxLimits> = {},
): Promise<number> {
  const sandbox = await context.create({ limits: { ...DEFAULT_LIMITS, ...limits } })
  await sandbox.writeFile('budgets.pl', program('budgets.pl'))
  const stdin = new PassThrough()
  const handle = sandbox.exec({
    command: `exec perl budgets.pl ${kind} ${most} ${processes} 2>&1`,
    stdin,
    timeout_ms: 60_000,
  })
  context.after(async () => {
    stdin.end()
    await handle.kill()
  })
  const said = await readUntil(handle, /took \d+\n/)
  const taken = /took (\d+)/.exec(said)?.[1]
  if (taken === undefined) throw new Error(`could not run: ${said}`)
  return Number(taken)
}

/** Takes all of a kind in one sandbox: broken when another one then gets none. */
const starves = (name: string, tries: string, most: number, processes: number, short: boolean): Probe => ({
  id: `budgets.${name}`,
  tries,
  ...(short ? { short: true } : {}),
  on: ON,
  async run(context) {
    const taken = await take(context, [name, most, processes])
    const left = await take(context, [name, 1, 1])
    return left === 0 ? broken(`after ${taken} there is none left for others`) : held(`${taken} taken`)
  },
})

/** What one sandbox may take and more is too much. */
const takes = (
  [name, kind]: [name: string, kind: string],
  tries: string,
  [most, processes, allowed]: [most: number, processes: number, allowed: number],
  limits: Partial<SandboxLimits> = {},
): Probe => ({
  id: `budgets.${name}`,
  tries,
  short: true,
  on: ON,
  async run(context) {
    const taken = await take(context, [kind, most, processes], limits)
    return taken > allowed ? broken(`${taken} of ${allowed}`) : held(`${taken}`)
  },
})

/** What the kernel counts by user or once for the whole machine, and not by sandbox. */
export const BUDGETS: Probe[] = [
  starves('inotify', 'takes every inotify instance of its user', 200, 2, true),
  starves('ptys', 'takes every pseudo-terminal of the machine', 1000, 5, false),
  takes(
    ['pending-signals', 'signals'],
    'queues 8,000 signals, of which a user may have so many at once',
    [2000, 4, 1100],
  ),
  takes(['open-files', 'files'], 'opens 200,000 files in 25 processes', [8000, 25, 110_000]),
  takes(
    ['socket-buffers', 'sockets'],
    'keeps 192 MiB in the buffers of sockets where 64 MiB of memory are allowed',
    // Of some 240,000 bytes each, with what the kernel adds.
    [110, 8, 160],
    { memory_bytes: 64 * 1024 ** 2 },
  ),
  // Buffers that the kernel counts by socket alone, of some 180,000 and 65,000 bytes each.
  takes(
    ['netlink-buffers', 'netlink'],
    'keeps 192 MiB in messages of netlink to itself where 64 MiB of memory are allowed',
    [140, 8, 450],
    { memory_bytes: 64 * 1024 ** 2 },
  ),
  takes(
    ['held-datagrams', 'held'],
    'keeps 192 MiB in datagrams that are never sent off where 64 MiB of memory are allowed',
    [390, 8, 1250],
    { memory_bytes: 64 * 1024 ** 2 },
  ),
]
