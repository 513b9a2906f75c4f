import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { DEFAULT_LIMITS } from '../../src/sandbox/sandbox.ts'
import { eventually } from '../support/sandbox-conformance.ts'
import { shell } from '../support/service.ts'
import { printed } from '../support/traces.ts'
import type { Context } from './context.ts'
import { broken, held, type Probe, type Verdict } from './probe.ts'
import { killLiving, livingProcesses, uniqueName } from './processes.ts'
import { ONE_BY_ONE } from './stall.ts'

const MiB = 1024 ** 2
const MEMORY_MIB = 128
/** What is asked for; a kernel that counts late gives a little more than the limit, never this. */
const WANTED_MIB = 512
const STALL_MS = 1_500

type Hog = [name: string, tries: string, kind: string, processes: number]
const HOGS: Hog[] = [
  ['memory', 'in one process', 'private', 1],
  ['memory-many', 'spread over eight processes', 'private', 8],
  ['memory-shared', 'in shared mappings', 'shared', 2],
  ['memory-memfd', 'in files without a name', 'memfd', 1],
]

/** Runs a command and measures how long this process could do nothing else, and what it kept. */
async function stallOf(context: Context, command: string, stdin?: string): Promise<Verdict> {
  const sandbox = await context.create()
  const before = process.memoryUsage().rss
  let longest = 0
  let last = performance.now()
  const look = () => {
    longest = Math.max(longest, performance.now() - last)
    last = performance.now()
  }
  const looking = setInterval(look, 20)
  const handle = sandbox.exec({
    command,
    timeout_ms: 120_000,
    max_output_bytes: 400_000,
    ...(stdin === undefined ? {} : { stdin }),
  })
  let bytes = 0
  for await (const { data } of handle.output) bytes += data.length
  const exit = await handle.exit
  clearInterval(looking)
  // The last stand may still last: what is awaited here came out of it.
  look()
  const grown = (process.memoryUsage().rss - before) / MiB
  const text = `stood still for ${Math.round(longest)} ms, grew by ${Math.round(grown)} MiB, kept ${bytes} bytes, ${exit.timed_out ? 'timed out' : `exit ${exit.code ?? exit.signal}`}`
  return longest > STALL_MS || grown > 512 || exit.timed_out ? broken(text) : held(text)
}

/** Waits for the end of a run that holds more than it may; broken when nobody stops it, or what it wrote stays. */
async function overDisk(context: Context, command: string): Promise<Verdict> {
  const { attacker, data_dir } = await context.service()
  const { uid } = await attacker.json<{ uid: string }>('POST', '/agent/environments', {
    name: randomUUID(),
    limits: { disk_mb: 256 },
  })
  const run_id = await attacker.create({
    prompt: shell(`${command}; sleep 30; echo survived`),
    config: { environment_id: uid },
  })
  const run = await attacker.ended(run_id)
  const survived = printed(await attacker.events(run_id)).includes('survived')
  const size = () => {
    const sandboxes = join(data_dir, 'sandboxes')
    return existsSync(sandboxes)
      ? Number(execFileSync('du', ['-sm', sandboxes], { encoding: 'utf8' }).split('\t')[0])
      : 0
  }
  const said = `${run.state}: ${run.status_message?.message ?? ''}`
  if (run.state === 'SUCCEEDED' || survived) return broken(said)
  const removed = await eventually('it is removed', () => size() < 300, 15_000).then(
    () => true,
    () => false,
  )
  return removed ? held(said) : broken(`${size()} MiB stay; ${said}`)
}

const WRITE = (path: string) =>
  `perl -e 'open F, ">", "${path}" or die; for (1 .. 40) { syswrite F, "a" x (1 << 24) or die "full: $!\\n" }'`
const NOTHING_LIMITS = 'the host backend limits nothing, but what is left is the service’s own work'

export const RESOURCES: Probe[] = [
  ...HOGS.map(
    ([name, tries, kind, processes]): Probe => ({
      id: `resources.${name}`,
      tries: `holds ${WANTED_MIB} MiB where ${MEMORY_MIB} are allowed, ${tries}`,
      ...(name === 'memory' ? { short: true } : {}),
      async run(context) {
        const sandbox = await context.create({
          limits: { ...DEFAULT_LIMITS, memory_bytes: MEMORY_MIB * MiB },
        })
        const { program } = await import('./context.ts')
        const { stdout, exit } = await context.run(`exec perl - ${kind} ${WANTED_MIB} ${processes} /tmp`, {
          sandbox,
          stdin: program('memory.pl'),
          timeout_ms: 60_000,
        })
        const held_mib = Number(/^held (\d+)$/m.exec(stdout)?.[1] ?? 0)
        return held_mib > MEMORY_MIB * 1.5
          ? broken(`${held_mib} MiB`)
          : held(`${held_mib} MiB, exit ${exit.code ?? exit.signal}`)
      },
    }),
  ),
  ...(
    [
      ['dev-shm', '/dev/shm', ['bubblewrap-root', 'bubblewrap-user', 'docker']],
      ['tmp', '/tmp', ['docker']],
    ] as const
  ).map(
    ([name, place, on]): Probe => ({
      id: `resources.memory-${name}`,
      tries: `holds ${WANTED_MIB} MiB of memory in files below ${place}`,
      on,
      async run(context) {
        const { program } = await import('./context.ts')
        const { stdout } = await context.run(`exec perl - file ${WANTED_MIB} 1 ${place}`, {
          sandbox: await context.create(),
          stdin: program('memory.pl'),
          timeout_ms: 60_000,
        })
        const held_mib = Number(/^held (\d+)$/m.exec(stdout)?.[1] ?? 0)
        return held_mib > 256 ? broken(`${held_mib} MiB`) : held(`${held_mib} MiB`)
      },
    }),
  ),
  {
    id: 'resources.processes',
    tries: 'has 300 processes where 64 are allowed',
    short: true,
    async run(context) {
      const sandbox = await context.create({ limits: { ...DEFAULT_LIMITS, pids: 64 } })
      const name = uniqueName()
      context.after(() => killLiving(name))
      const handle = sandbox.exec({
        command: `perl -e '$0 = "${name}"; $| = 1; for (1 .. 300) { my $pid = fork; last unless defined $pid; if (!$pid) { sleep 30; exit } } print "ready\\n"; sleep 30'`,
      })
      for await (const _ of handle.output) break
      const living = livingProcesses(name).length
      await handle.kill()
      if (living === 0) throw new Error('could not run')
      return living > 64 ? broken(`${living} processes`) : held(`${living} processes`)
    },
  },
  {
    id: 'resources.processor',
    tries: 'takes more of the processors than it is allowed',
    async run(context) {
      const sandbox = await context.create({ limits: { ...DEFAULT_LIMITS, cpus: 0.2 } })
      const { stdout } = await context.run(
        `perl -e 'use Time::HiRes "time"; my $end = time + 4; my @children = map { my $pid = fork; if (!$pid) { 1 while time < $end; exit } $pid } 1, 2; waitpid $_, 0 for @children; my @t = times; print $t[2] + $t[3]'`,
        { sandbox },
      )
      const seconds = Number(stdout || Number.NaN)
      if (Number.isNaN(seconds)) throw new Error('could not run')
      // 0.2 of 4 seconds are 0.8; a machine that is busy gives less, one that limits nothing up to 8.
      return seconds > 2 ? broken(`${seconds} s in 4`) : held(`${seconds} s in 4`)
    },
  },
  ...(
    [
      ['one-byte-writes', 'prints 420,000 bytes one by one', ONE_BY_ONE],
      ['huge-line', 'prints 256 MiB without a newline', `perl -e 'print "x" x (1 << 20) for 1 .. 256'`],
      [
        'two-streams',
        'prints to both streams in turns, 150,000 times',
        `perl -e 'for (1 .. 150_000) { syswrite STDOUT, "o"; syswrite STDERR, "e" }'`,
      ],
    ] as const
  ).map(
    ([name, tries, command]): Probe => ({
      id: `resources.output-${name}`,
      tries: `stops the process that reads its output: ${tries}`,
      run: (context) => stallOf(context, command),
      shut: NOTHING_LIMITS,
    }),
  ),
  {
    id: 'resources.input-refused',
    tries: 'closes its input while 64 MiB are being written to it',
    shut: NOTHING_LIMITS,
    run: (context) => stallOf(context, 'exec 0<&-; sleep 0.2; echo bye', 'x'.repeat(64 * MiB)),
  },
  ...(
    [
      ['workspace', 'the workspace', WRITE('big')],
      ['home', 'its home', WRITE('$ENV{HOME}/big')],
      ['deep', 'a folder that nobody may list', `mkdir -p closed; cd closed; ${WRITE('big')}; chmod 000 .`],
      [
        'unlinked',
        'a file without a name that it keeps open',
        `perl -e 'open F, ">", "gone"; unlink "gone"; for (1 .. 40) { syswrite F, "a" x (1 << 24) or exit 1 } sleep 30'`,
      ],
      [
        'hidden',
        'files that it makes and removes again and again',
        `perl -e 'my $end = time + 20; while (time < $end) { open F, ">", "flash" or die; syswrite F, "a" x (1 << 24) or die for 1 .. 40; close F; select undef, undef, undef, 0.2; unlink "flash" }'`,
      ],
    ] as const
  ).map(
    ([name, what, command]): Probe => ({
      id: `resources.disk-${name}`,
      tries: `fills ${what} with 640 MiB where 256 are allowed`,
      on: ['bubblewrap-root', 'bubblewrap-user', 'docker'],
      run: (context) => overDisk(context, command),
    }),
  ),
  {
    id: 'resources.disk-tmp',
    tries: 'fills /tmp with 640 MiB where 256 are allowed',
    on: ['bubblewrap-root', 'bubblewrap-user'],
    run: (context) => overDisk(context, WRITE('/tmp/big')),
  },
  {
    id: 'resources.inodes',
    tries: 'makes 400,000 empty files',
    on: ['bubblewrap-root', 'bubblewrap-user', 'docker'],
    run: (context) =>
      overDisk(
        context,
        `perl -e 'for my $d (1 .. 400) { mkdir "d$d"; for (1 .. 1000) { open F, ">", "d$d/$_" or die "full: $!\\n" } }'`,
      ),
  },
  {
    id: 'resources.sparse-artifacts',
    tries: 'has the service keep 2 GB of artifacts that took no space',
    async run(context) {
      const { attacker, data_dir } = await context.service()
      const run_id = await attacker.create({
        prompt: shell('mkdir artifacts; for i in $(seq 20); do truncate -s 99M artifacts/$i.bin; done'),
      })
      await attacker.ended(run_id, 150)
      await delay(500)
      const blobs = join(data_dir, 'blobs')
      const kept = existsSync(blobs)
        ? Number(execFileSync('du', ['-sm', '--apparent-size', blobs], { encoding: 'utf8' }).split('\t')[0])
        : 0
      return kept > 1_100 ? broken(`${kept} MiB of blobs`) : held(`${kept} MiB of blobs`)
    },
  },
]
