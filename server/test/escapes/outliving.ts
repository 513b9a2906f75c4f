import { setTimeout as delay } from 'node:timers/promises'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import { eventually } from '../support/sandbox-conformance.ts'
import { printed } from '../support/traces.ts'
import { type Context, program } from './context.ts'
import { broken, held, type Probe, type Verdict } from './probe.ts'
import { killLiving, livingProcesses, uniqueName } from './processes.ts'

/** How long the dead may take to go; a busy machine is slow to bury them. */
const GONE_MS = 5_000

interface Lingering {
  name: string
  sandbox: Sandbox
  handle: ReturnType<Sandbox['exec']>
  printed: () => string
}

/** A command inside that left a process behind, as `inside/linger.pl` says, and that goes on until it is stopped. */
async function linger(
  context: Context,
  modes: readonly string[],
  options: { timeout_ms?: number; signal?: AbortSignal; sandbox?: Sandbox } = {},
): Promise<Lingering> {
  const name = uniqueName()
  context.after(() => killLiving(name))
  const { sandbox = await context.create(), ...limits } = options
  let text = ''
  const handle = sandbox.exec({
    command: `exec perl - ${name} ${modes.join(' ')}`,
    stdin: program('linger.pl'),
    ...limits,
  })
  const reading = (async () => {
    for await (const { data } of handle.output) text += Buffer.from(data)
  })()
  context.after(async () => {
    await handle.kill()
    await reading
  })
  await eventually(
    'it is ready',
    () => /^(ready|nothing)|error/im.test(text) || text.includes('syntax'),
    20_000,
  ).catch(() => {})
  if (!/^ready$/m.test(text)) throw new Error(`could not run: ${text}`)
  return { name, sandbox, handle, printed: () => text }
}

/** Whether anything of that name lives on after `GONE_MS`. */
async function requireGone(context: Context, name: string, after: string): Promise<Verdict> {
  const gone = await eventually('gone', () => livingProcesses(name).length === 0, GONE_MS).then(
    () => true,
    () => false,
  )
  // A comet is rarely seen; it must stay unseen.
  for (let look = 0; look < 20 && gone; look++) {
    if (livingProcesses(name).length > 0) return broken(`it came back after ${after}`)
    await delay(10)
  }
  context.after(() => killLiving(name))
  return gone ? held(`gone after ${after}`) : broken(`alive ${GONE_MS / 1000} s after ${after}`)
}

const WAYS: Array<[name: string, tries: string, modes: string[]]> = [
  ['daemon', 'forks twice into a session of its own with an empty environment and another name', []],
  ['traced', 'takes the parent-death signal from process 1 by ptrace', ['trace']],
  ['erased', 'does that and erases the command lines the kill may look for', ['trace', 'erase']],
  ['comet', 'forks and ends a thousand times a second', ['comet']],
  ['stopped', 'stops itself', ['stop']],
  ['vfork', 'hangs in a vfork', ['vfork']],
  ['holding', 'ignores all signals and holds the output open', ['ignore', 'hold']],
]
const ENDS: Array<
  [name: string, says: string, end: (it: Lingering, stop: AbortController) => Promise<unknown>]
> = [
  ['timeout', 'its timeout', ({ handle }) => handle.exit],
  [
    'abort',
    'its abort',
    ({ handle }, stop) => {
      stop.abort()
      return handle.exit
    },
  ],
  ['kill-all', 'killAll', ({ sandbox }) => sandbox.killAll()],
  ['destroy', 'destroy', ({ sandbox }) => sandbox.destroy()],
]
/** Whole in `npm run test:escapes`; of these one each in the short form. */
const SHORT = ['timeout-traced', 'kill-all-erased', 'destroy-erased', 'abort-comet', 'timeout-daemon']
const NO_DOOR = 'the host backend kills what it finds; only an erased environment escapes it'

export const OUTLIVING: Probe[] = [
  ...ENDS.flatMap(([end, says, finish]) =>
    WAYS.map(
      ([way, tries, modes]): Probe => ({
        id: `outliving.${end}-${way}`,
        tries: `lives on after ${says}: ${tries}`,
        ...(SHORT.includes(`${end}-${way}`) ? { short: true } : {}),
        ...(['vfork', 'stopped'].includes(way) ? { shut: NO_DOOR } : {}),
        async run(context) {
          const stop = new AbortController()
          const it = await linger(context, modes, {
            signal: stop.signal,
            ...(end === 'timeout' ? { timeout_ms: 4_000 } : {}),
          })
          await finish(it, stop)
          return requireGone(context, it.name, says)
        },
      }),
    ),
  ),
  {
    id: 'outliving.reaper-killed',
    tries: 'kills the processes above it that gather its orphans, then lives on after killAll',
    async run(context) {
      const it = await linger(context, ['reaper', 'hold', 'trace'])
      await Promise.race([it.handle.exit, delay(2_000)])
      await it.sandbox.killAll()
      return requireGone(context, it.name, 'killAll')
    },
  },
  {
    id: 'outliving.pipe-held',
    tries: 'holds the output open so that the command never seems to end, beyond its timeout',
    shut: 'every backend cuts the pipes',
    async run(context) {
      const it = await linger(context, ['hold', 'ignore', 'return', 'trace'], { timeout_ms: 4_000 })
      const ended = await Promise.race([it.handle.exit.then(() => true), delay(15_000, false)])
      return ended ? held('the command ended') : broken('the command has not ended 15 s later')
    },
  },
  {
    id: 'outliving.frozen',
    tries: 'runs on while its sandbox is frozen, by forking faster than it is looked for',
    async run(context) {
      const it = await linger(context, ['comet', 'trace', 'erase'])
      await context.backend.freeze?.(it.sandbox.ref)
      // The ids of a comet change while it runs.
      await delay(500)
      const seen = new Set<string>()
      for (let look = 0; look < 50; look++) {
        seen.add(livingProcesses(it.name).join())
        await delay(10)
      }
      await context.backend.thaw?.(it.sandbox.ref)
      return seen.size <= 1
        ? held(`frozen: ${[...seen]}`)
        : broken(`${seen.size} different processes in half a second`)
    },
  },
  ...(
    [
      ['worker-killed', 'the process that started it is killed', [], true],
      [
        'worker-killed-traced',
        'the process that started it is killed, and there is no warden',
        ['trace', 'erase'],
        false,
      ],
    ] as const
  ).map(
    ([name, when, modes, short]): Probe => ({
      id: `outliving.${name}`,
      tries: `lives on when ${when}`,
      ...(short ? { short } : {}),
      // A container outlives the worker by design: it is the warden who ends it.
      on: ['bubblewrap-root', 'bubblewrap-user', 'open'],
      async run(context) {
        const process_name = uniqueName()
        context.after(() => killLiving(process_name))
        const command = `perl - ${process_name} ${modes.join(' ')} <<'LINGER'\n${program('linger.pl')}\nLINGER`
        const words = context.order({ action: 'hold', spec: context.spec(), command })
        const creator = await context.start(words, { until: /\n/ })
        if (livingProcesses(process_name).length === 0) throw new Error(`could not run: ${creator.output}`)
        process.kill(creator.pid, 'SIGKILL')
        await creator.ended
        return requireGone(context, process_name, 'the kill')
      },
    }),
  ),
  ...(
    [
      ['service-killed', 'the service is killed with SIGKILL', serviceKilled],
      [
        'service-and-warden-killed',
        'service and warden are killed with SIGKILL, and the service starts again',
        bothKilled,
      ],
      ['service-stopped', 'the service is told to stop', serviceStopped],
      ['run-cancelled', 'its run is cancelled', runCancelled],
      ['run-ended', 'its run has ended and the time it is kept for is over', runEnded],
    ] as Array<[string, string, (context: Context) => Promise<Verdict>]>
  ).map(
    ([name, when, run]): Probe => ({
      id: `outliving.${name}`,
      tries: `lives on when ${when}, with every trick at once`,
      shut: NO_DOOR,
      run,
    }),
  ),
]

const TRICKS = ['trace', 'erase']

/** A run of a service of the probe's own, with a process that does everything to live on. */
async function lingerInRun(context: Context) {
  const service = await context.service()
  const own = await service.another()
  context.after(() => own.stop())
  const name = uniqueName()
  context.after(() => killLiving(name))
  const { admin } = own
  const run_id = await admin.create({
    prompt: `\`\`\`sh\nperl - ${name} ${TRICKS.join(' ')} <<'LINGER'\n${program('linger.pl')}\nLINGER\n\`\`\``,
  })
  await eventually('the process runs', () => livingProcesses(name).length > 0, 30_000)
  await eventually(
    'it has tampered',
    async () => printed(await admin.events(run_id)).includes('ready'),
    30_000,
  )
  return { own, name, run_id, admin }
}

async function serviceKilled(context: Context): Promise<Verdict> {
  const { own, name } = await lingerInRun(context)
  await own.kill('SIGKILL')
  return requireGone(context, name, 'the kill')
}

async function bothKilled(context: Context): Promise<Verdict> {
  const { own, name } = await lingerInRun(context)
  const first = livingProcesses(name)
  const wardens = own.wardens()
  if (wardens.length === 0) throw new Error('could not run: there is no warden')
  for (const pid of wardens) process.kill(pid, 'SIGSTOP')
  await own.kill('SIGKILL')
  for (const pid of wardens) process.kill(pid, 'SIGKILL')
  await own.again()
  // The run goes on and may do all this again: only what it did before the kill must be gone.
  const gone = await eventually(
    'gone',
    () => !livingProcesses(name).some((pid) => first.includes(pid)),
    4 * GONE_MS,
  ).then(
    () => true,
    () => false,
  )
  return gone ? held('gone after the next start') : broken('alive after the next start')
}

async function serviceStopped(context: Context): Promise<Verdict> {
  const { own, name } = await lingerInRun(context)
  await own.kill('SIGTERM')
  return requireGone(context, name, 'the stop')
}

async function runCancelled(context: Context): Promise<Verdict> {
  const { admin, run_id, name } = await lingerInRun(context)
  await admin.json('POST', `/agent/runs/${run_id}/cancel`)
  await admin.ended(run_id)
  return requireGone(context, name, 'the cancel')
}

async function runEnded(context: Context): Promise<Verdict> {
  const service = await context.service()
  const name = uniqueName()
  context.after(() => killLiving(name))
  const run_id = await service.admin.create({
    prompt: `\`\`\`sh\nperl - ${name} return <<'LINGER'\n${program('linger.pl')}\nLINGER\n\`\`\``,
  })
  await service.admin.ended(run_id)
  return requireGone(context, name, 'the end')
}
