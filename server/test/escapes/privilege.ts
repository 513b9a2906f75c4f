import { readFileSync } from 'node:fs'
import type { Context } from './context.ts'
import { makeProgram32, X32_BIT } from './foreign-calls.ts'
import { broken, brokenBy, held, type Probe } from './probe.ts'
import { livingProcesses, processIds, readProcess, uniqueName } from './processes.ts'

/** Calls with a record of ways out, or that reach across sandboxes. */
const CALLS = [
  ...['add_key', 'request_key', 'keyctl', 'bpf', 'perf_event_open', 'userfaultfd'],
  ...['io_uring_setup', 'io_uring_enter', 'io_uring_register', 'kexec_load', 'kexec_file_load'],
  ...[
    'init_module',
    'finit_module',
    'delete_module',
    'mount',
    'umount2',
    'pivot_root',
    'open_tree',
    'move_mount',
  ],
  ...[
    'fsopen',
    'fsmount',
    'mount_setattr',
    'setns',
    'open_by_handle_at',
    'swapon',
    'reboot',
    'acct',
    'quotactl',
  ],
  ...['syslog', 'kcmp', 'iopl', 'io_setup', 'io_submit'],
]
/** EPERM, ENOSYS. */
const REFUSED = /^(killed|error (1|38))$/

/** All calls are tried at once; each has its own verdict. */
const answers = new WeakMap<Context, Promise<Map<string, string>>>()
function answersOf(context: Context): Promise<Map<string, string>> {
  const known = answers.get(context)
  if (known) return known
  const asked = context.perl('calls.pl').then(
    (said) =>
      new Map(
        said
          .trim()
          .split('\n')
          .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)] as const),
      ),
  )
  answers.set(context, asked)
  return asked
}

/** Kinds of sockets that talk to the kernel or past the network namespace. `PF, type, protocol`. */
const SOCKETS: Array<[name: string, tries: string, family: number, type: number, protocol: number]> = [
  ['vsock', 'opens an AF_VSOCK socket, which reaches the hypervisor past every network namespace', 40, 1, 0],
  ['alg', 'opens an AF_ALG socket, which runs code of the kernel that has a record of ways out', 38, 5, 0],
  ['packet', 'opens an AF_PACKET socket', 17, 3, 0x300],
  ['raw', 'opens a raw IP socket', 2, 3, 1],
  ['bluetooth', 'opens an AF_BLUETOOTH socket', 31, 3, 1],
  ['can', 'opens an AF_CAN socket', 29, 3, 1],
  ['tipc', 'opens an AF_TIPC socket', 30, 1, 0],
  ['rds', 'opens an AF_RDS socket', 21, 5, 0],
]

async function statusOf(context: Context): Promise<Map<string, string>> {
  const { stdout } = await context.run('cat /proc/self/status')
  if (!stdout.includes('CapEff')) throw new Error('could not run')
  return new Map(stdout.split('\n').map((line) => [line.split(':\t')[0] ?? '', line.split(':\t')[1] ?? '']))
}

export const PRIVILEGE: Probe[] = [
  {
    id: 'privilege.capabilities',
    tries: 'has a capability',
    short: true,
    on: ['bubblewrap-root', 'bubblewrap-user', 'docker', 'open'],
    async run(context) {
      const status = await statusOf(context)
      return brokenBy(
        ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']
          .filter((name) => Number.parseInt(status.get(name) ?? '', 16) !== 0)
          .map((name) => `${name} ${status.get(name)}`),
        'none in any set',
      )
    },
  },
  {
    id: 'privilege.no-new-privileges',
    tries: 'gains privileges by setuid programs, or runs without a system call filter',
    short: true,
    async run(context) {
      const status = await statusOf(context)
      return status.get('NoNewPrivs') === '1' && status.get('Seccomp') === '2'
        ? held('no new privileges, filtered')
        : broken(`NoNewPrivs ${status.get('NoNewPrivs')}, Seccomp ${status.get('Seccomp')}`)
    },
  },
  {
    id: 'privilege.setuid-program',
    tries: 'starts su and becomes root in it',
    short: true,
    shut: 'it asks root for no password',
    async run(context) {
      // It waits for a password that comes late, and meanwhile says whose it is.
      const { stdout } = await context.run(
        `command -v su > /dev/null || exit 9; (sleep 2; echo x) | su -c true > /dev/null 2>&1 & sleep 0.7
for p in /proc/[0-9]*; do [ "$(cat $p/comm)" = su ] && grep ^Uid: $p/status; done; echo tried`,
      )
      if (!stdout.includes('tried')) throw new Error('could not run: no su inside')
      const effective = [...stdout.matchAll(/^Uid:\s+\d+\s+(\d+)/gm)].map(([, uid]) => uid)
      if (effective.includes('0')) return broken('su ran as root')
      return held(effective.length > 0 ? `su ran as ${effective}` : 'su did not stay')
    },
  },
  {
    id: 'privilege.become-root',
    tries: 'sets its user to 0 and to that of the service',
    short: true,
    on: ['bubblewrap-root', 'docker', 'open'],
    async run(context) {
      const { stdout } = await context.run(
        `perl -e 'for my $uid (0, 65534, 1) { local ($<, $>) = ($<, $>); $! = 0; $< = $> = $uid; print "became $uid\\n" if $< == $uid or $> == $uid } print "tried\\n"'`,
      )
      if (!stdout.includes('tried')) throw new Error('could not run')
      return brokenBy(
        stdout.split('\n').filter((line) => line.startsWith('became')),
        'it stays itself',
      )
    },
  },
  {
    id: 'privilege.namespaces',
    tries: 'makes namespaces of its own by unshare, clone and clone3, with and without a user namespace',
    short: true,
    run: async (context) =>
      brokenBy(
        (await context.perl('namespaces.pl')).trim().split('\n').filter(Boolean).slice(0, 5),
        'every way is refused',
      ),
  },
  ...CALLS.map(
    (name): Probe => ({
      id: `privilege.call-${name}`,
      tries: `makes the system call ${name}`,
      short: true,
      ...([
        'kexec_load',
        'kexec_file_load',
        'init_module',
        'finit_module',
        'delete_module',
        'iopl',
        'request_key',
        'reboot',
      ].includes(name)
        ? { shut: 'not every kernel has it' }
        : {}),
      async run(context) {
        const answer = (await answersOf(context)).get(name)
        if (answer === undefined) return held('this processor has no such call')
        return REFUSED.test(answer) ? held(answer) : broken(`the call was let through: ${answer}`)
      },
    }),
  ),
  ...SOCKETS.map(
    ([name, tries, family, type, protocol]): Probe => ({
      id: `privilege.socket-${name}`,
      tries,
      short: true,
      // Whether the kernel has them or not: the filter, or the lack of a right, must answer first.
      ...(['bluetooth', 'can', 'tipc', 'rds', 'vsock', 'alg'].includes(name)
        ? { shut: 'not every kernel has it' }
        : {}),
      async run(context) {
        const { stdout } = await context.run(
          `perl -e 'print socket(my $s, ${family}, ${type}, ${protocol}) ? "opened" : "error " . ($! + 0)'`,
        )
        if (stdout === 'opened') return broken('it opened')
        if (!stdout) throw new Error('could not run')
        // EAFNOSUPPORT and the like: not refused, only not there on this kernel.
        const is_asked_for = name === 'vsock' && stdout !== 'error 1'
        return is_asked_for ? broken(`the filter let it through: ${stdout}`) : held(stdout)
      },
    }),
  ),
  {
    id: 'privilege.x32-calls',
    tries: 'makes filtered calls by their numbers of the x32 ABI',
    short: true,
    shut: 'few kernels have x32',
    async run(context) {
      if (process.arch !== 'x64') return held('this processor has no such ABI')
      const { stdout } = await context.run(
        `for n in 250 248 425 321 165; do perl -e '$| = 1; my $r = syscall($ARGV[0] | ${X32_BIT}, 0, -3, 0, 0); print "call $ARGV[0] ", $r < 0 ? $! + 0 : "allowed", "\\n"' $n 2>/dev/null; done; echo tried`,
      )
      if (!stdout.includes('tried')) throw new Error('could not run')
      return brokenBy(
        stdout.split('\n').filter((line) => /^call/.test(line) && !/ (1|38)$/.test(line)),
        'killed or refused',
      )
    },
  },
  {
    id: 'privilege.int80-calls',
    tries: 'makes filtered calls by the 32-bit entry of the kernel (int 0x80)',
    short: true,
    shut: 'not every kernel has it',
    async run(context) {
      if (process.arch !== 'x64') return held('this processor has no such entry')
      // keyctl is 288 there; the program ends with the number of the error, or 0.
      const sandbox = await context.create()
      await sandbox.writeFile('call', makeProgram32(288, 0, -3), { mode: 0o755 })
      const { exit, stderr } = await context.run('./call', { sandbox })
      const said = `${exit.code ?? exit.signal} ${stderr.trim()}`
      if (exit.code === 126 || exit.code === 127) throw new Error(`could not run: ${said}`)
      return exit.code === 1 || exit.code === 38 || exit.signal ? held(said) : broken(`exit ${said}`)
    },
  },
  {
    id: 'privilege.trace-others',
    tries: 'sees, signals or traces processes of the host and of another sandbox by their ids there',
    short: true,
    async run(context) {
      const victim = await context.create()
      const name = uniqueName()
      const handle = victim.exec({
        command: `exec perl -e '$0 = "${name}"; $| = 1; print "ready"; sleep 60'`,
      })
      context.after(() => handle.kill())
      for await (const _ of handle.output) break
      const [pid] = livingProcesses(name)
      if (!pid) throw new Error('could not run: the other process is not there')
      const { stdout } = await context.run(
        `cat /proc/*/comm | grep ${name}; perl -e 'print "traced\\n" if syscall(101, 0x4206, ${pid}, 0, 0) == 0'; kill -TERM ${pid}; echo tried`,
      )
      if (!stdout.includes('tried')) throw new Error('could not run')
      const still = livingProcesses(name).includes(pid)
      return stdout.includes(name) || stdout.includes('traced') || !still
        ? broken(`seen: ${stdout.trim()}; it ${still ? 'lives' : 'was killed'}`)
        : held('neither seen nor reached')
    },
  },
  {
    id: 'privilege.own-user',
    tries: 'runs as the user of the service or of another sandbox on the host',
    short: true,
    async run(context) {
      const uids = await Promise.all(
        [0, 1].map(async () => {
          const sandbox = await context.create()
          const name = uniqueName()
          const handle = sandbox.exec({
            command: `exec perl -e '$0 = "${name}"; $| = 1; print "ready"; sleep 60'`,
          })
          context.after(() => handle.kill())
          for await (const _ of handle.output) break
          const [pid] = livingProcesses(name)
          if (!pid) throw new Error('could not run')
          return Number(/^Uid:\s+(\d+)/m.exec(readProcess(pid, 'status'))?.[1])
        }),
      )
      const own = process.getuid?.()
      if (uids.some((uid) => uid === own)) return broken(`as the service: ${uids}`)
      return uids[0] === uids[1] ? broken(`both as ${uids[0]}`) : held(`as ${uids}`)
    },
  },
  {
    id: 'privilege.out-of-memory-score',
    tries: 'makes the kernel kill others, the service first, when memory runs out',
    short: true,
    on: ['bubblewrap-root', 'docker', 'open'],
    async run(context) {
      const own = Number(readFileSync('/proc/self/oom_score_adj', 'utf8'))
      const { stdout } = await context.run(
        'for n in -1000 -500 0 100; do { echo $n > /proc/self/oom_score_adj; } 2>/dev/null && break; done; cat /proc/self/oom_score_adj',
      )
      const score = Number(stdout || Number.NaN)
      if (Number.isNaN(score)) throw new Error('could not run')
      // As low as the service's at best: then the larger of the two goes first.
      return score < own ? broken(`${score}, the service ${own}`) : held(`${score}, the service ${own}`)
    },
  },
  {
    id: 'privilege.terminal',
    tries: 'types into the terminal that the service was started in (TIOCSTI, /dev/tty)',
    short: true,
    shut: 'the host backend gives sessions of their own too',
    async run(context) {
      const command = `perl -e 'for my $path ("/dev/tty", "/proc/self/fd/0", "/proc/self/fd/1", "/proc/self/fd/2") { open my $tty, "+<", $path or next; my $byte = "x"; print "opened $path\\n" if $path eq "/dev/tty"; print "typed into $path\\n" if ioctl $tty, 0x5412, $byte }'; echo tried`
      const words = context.order({ action: 'run', spec: context.spec(), command })
      const quoted = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
      const { output } = await context.start(['script', '-qefc', quoted, '/dev/null'], { until: /tried/ })
      if (!output.includes('tried')) throw new Error(`could not run: ${output}`)
      return brokenBy(
        [...output.matchAll(/opened \S+|typed into \S+/g)].map(([text]) => text.split('\\n')[0] ?? ''),
        'there is no terminal',
      )
    },
  },
  {
    id: 'privilege.priority',
    tries: 'takes real-time priority or a better nice value',
    short: true,
    on: ['bubblewrap-root', 'docker', 'open'],
    async run(context) {
      const { stdout } = await context.run(
        `perl -e 'my $arm = \`uname -m\` =~ /aarch64/; my $p = pack "i", 10; print "real time\\n" if syscall($arm ? 119 : 144, 0, 1, $p) == 0; my $before = getpriority 0, 0; setpriority 0, 0, -10; print "nice\\n" if getpriority(0, 0) < $before; print "tried\\n"'`,
      )
      if (!stdout.includes('tried')) throw new Error('could not run')
      return brokenBy(
        stdout.split('\n').filter((line) => /real|nice/.test(line)),
        'both are refused',
      )
    },
  },
  {
    id: 'privilege.processes-seen',
    tries: 'lists processes of the host',
    short: true,
    async run(context) {
      const { stdout } = await context.run('for p in /proc/[0-9]*; do echo x; done')
      const seen = stdout.trim().split('\n').length
      return seen > processIds().length / 2 ? broken(`${seen} processes`) : held(`${seen} processes`)
    },
  },
]
