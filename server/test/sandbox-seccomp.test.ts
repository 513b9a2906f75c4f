/** Every system call, tried inside: under the engine's own profile, under ours, and under bubblewrap. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { DEFAULT_LIMITS } from '../src/sandbox/sandbox.ts'
import { ABSENT_CALLS, ALLOWED_CALLS, CHECKED_CALLS } from '../src/sandbox/system-calls.ts'
import { whyNoDocker } from './support/machine.ts'
import { type BackendName, openBackend, TEST_IMAGE } from './support/sandbox-backends.ts'
import { run } from './support/sandbox-conformance.ts'

const undocked = whyNoDocker()
const bubblewrap = spawnSync('bwrap', ['--version']).status === 0
const x64 = process.arch === 'x64'

/** Calls to try: a number and a first argument each; every other argument is -1, which none of them takes. */
type Call = [number: number, first: number]

const HIGHEST = 480
/** The argument that `personality` may not be given: no random addresses. */
const FIXED_ADDRESSES = 0x40000
const [CLONE, PERSONALITY, SOCKET] = [56, 135, 41]
const FAMILIES = Array.from({ length: 46 }, (_, family) => family)
/** With a garbled upper half, which the kernel does not read. */
const GARBLED = 2 ** 40
const VSOCK = 40

const CALLS: Call[] = Array.from({ length: HIGHEST }, (_, number) => [
  number,
  number === PERSONALITY ? FIXED_ADDRESSES : -1,
])
const SOCKETS: Call[] = [...FAMILIES, VSOCK + GARBLED].map((family) => [SOCKET, family])

/** Each in a process of its own, which may be killed or hang: an errno, or nothing where it was let through. */
const PROBE = `
use strict; my @calls = map { [split / /] } split /,/, shift @ARGV; my @errors;
while (my @batch = splice @calls, 0, 100) {
  my @children = map { my $call = $_; pipe(my $from, my $to); my $pid = fork;
    if (!$pid) { alarm 5; my $r = syscall $call->[0] + 0, $call->[1] + 0, -1, -1, -1, -1, -1; syswrite $to, $r < 0 ? $! + 0 : 0; exit }
    close $to; [$pid, $from] } @batch;
  for (@children) { my ($pid, $from) = @$_; waitpid $pid, 0; push @errors, scalar readline $from } }
print join ",", map { $_ // "" } @errors`

/** `uretprobe` and `uprobe`: the kernel's own trampolines call them, and it asks no filter. They kill anybody else. */
const UNFILTERED = [335, 336]

const [EPERM, ENOSYS] = ['1', '38']
const isDenied = (error: string | undefined): boolean => error === EPERM || error === ENOSYS
const wordsOf = (calls: Call[]): string => calls.map((call) => call.join(' ')).join(',')

/** Under the engine's own profile, otherwise as we start containers. */
function probeEngine(calls: Call[]): string[] {
  const options = ['--cap-drop', 'ALL', '--security-opt', 'no-new-privileges', '--user', '1000:1000']
  const words = [...options, '--network', 'none', '--init', TEST_IMAGE, 'perl', '-e', PROBE, wordsOf(calls)]
  return execFileSync('docker', ['run', '--rm', ...words], { encoding: 'utf8' }).split(',')
}

async function probe(name: BackendName, calls: Call[]): Promise<string[]> {
  const data_dir = await mkdtemp(join(tmpdir(), 'runyard-seccomp-'))
  const backend = await openBackend(name, { data_dir, installation_id: randomUUID() })
  const sandbox = await backend.create({
    run_id: randomUUID(),
    attempt: 1,
    limits: DEFAULT_LIMITS,
    egress: 'none',
    env: {},
  })
  try {
    const { stdout } = await run(sandbox, `perl - '${wordsOf(calls)}'`, { stdin: PROBE })
    return stdout.split(',')
  } finally {
    await sandbox.destroy()
    await rm(data_dir, { recursive: true })
  }
}

describe('system calls', { skip: !x64 }, () => {
  test('Docker denies whatever the engine’s own profile denies', { skip: undocked }, async () => {
    const [theirs, ours] = [probeEngine(CALLS), await probe('docker', CALLS)]
    assert.equal(ours.length, CALLS.length)
    const weaker = CALLS.filter((_, at) => isDenied(theirs[at]) && !isDenied(ours[at])).map(
      ([number]) => number,
    )
    assert.deepEqual(weaker, [])
    const io_uring = [425, 426, 427]
    for (const number of [...io_uring, CLONE]) assert.equal(ours[number], EPERM, `${number}`)
  })

  for (const [name, here] of [
    ['docker', undocked === false],
    ['bubblewrap', bubblewrap],
  ] as const) {
    test(`${name} denies what the list does not have and opens only the sockets it has`, {
      skip: !here,
    }, async () => {
      const errors = await probe(name, [...CALLS, ...SOCKETS])
      const known = new Map(
        [...ALLOWED_CALLS, ...Object.entries(ABSENT_CALLS)].map(([call, [number]]) => [number, call]),
      )
      for (const [at, [number]] of CALLS.entries())
        if (!known.has(number) && !UNFILTERED.includes(number))
          assert.ok(isDenied(errors[at]), `${number} gave ${errors[at]}`)
      // A type that no family has: what is let through fails by another error.
      const open = SOCKETS.filter((_, at) => errors[CALLS.length + at] !== EPERM).map(([, family]) => family)
      assert.deepEqual(open, CHECKED_CALLS.socket?.values)
    })
  }

  const header = ['/usr/include/x86_64-linux-gnu/asm/unistd_64.h', '/usr/include/asm/unistd_64.h'].find(
    existsSync,
  )
  test('the list’s numbers are the kernel’s', { skip: !header }, () => {
    const text = readFileSync(header ?? '', 'utf8')
    const numbers = new Map(
      [...text.matchAll(/#define __NR_(\w+) (\d+)/g)].map(([, name, n]) => [name, Number(n)]),
    )
    for (const [name, [number]] of ALLOWED_CALLS)
      if (numbers.has(name)) assert.equal(number, numbers.get(name), name)
  })
})
