import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isSeen, plant } from './files.ts'
import { brokenBy, type Probe } from './probe.ts'

/** Opens files by their names and patterns, to read a byte (`r`) or for writing (`w`): none may open. */
const opening =
  (how: 'r' | 'w', paths: readonly string[]): Probe['run'] =>
  async (context) => {
    const opened = (await context.perl('open.pl', [how, ...paths])).split('\n').filter(Boolean)
    return brokenBy(opened.slice(0, 5), how === 'r' ? 'no byte' : 'none opens')
  }

/** What the kernel shows as files: processes, memory, settings, control groups, devices, mounts. */
export const KERNEL_FILES: Probe[] = [
  {
    id: 'files.process-roots',
    tries: 'walks through /proc/*/root, cwd and fd to the files of the host',
    short: true,
    async run(context) {
      const secret = join(plant(context), 'secret')
      const { stdout } = await context.run(
        `for p in /proc/[0-9]* /proc/self/task/*; do cat $p/root${secret} $p/cwd${secret} $p/fd/*/..${secret} < /dev/null; done; echo tried`,
      )
      if (!stdout.includes('tried')) throw new Error('could not run')
      return isSeen(context, stdout, 'reading')
    },
  },
  {
    id: 'files.service-environment',
    tries:
      'reads secrets in the environment, command lines and memory of the process that started the sandbox',
    short: true,
    async run(context) {
      const command = `cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\0' '\\n'; env; cat /proc/1/environ`
      const { output } = await context.start(
        context.order({ action: 'run', spec: context.spec(), command }),
        {
          env: { SECRET: context.canary },
          until: /\n$/,
        },
      )
      if (!output.includes('PATH=')) throw new Error(`could not run: ${output}`)
      return isSeen(context, output, 'reading')
    },
  },
  {
    id: 'files.descriptors',
    tries: 'reads through descriptors that the service was started with',
    short: true,
    async run(context) {
      const secret = join(plant(context), 'secret')
      // /dev/fd/N begins at the start of the file again, whoever read it before.
      const command =
        'for f in /proc/self/fd/* /proc/$$/fd/* /proc/$PPID/fd/* /proc/1/fd/*; do [ -f $f ] && head -c 1000 $f; done; ls /proc/self/fd; echo tried'
      const words = context.order({ action: 'run', spec: context.spec(), command })
      const start = `exec 9<${secret} 12<${secret} 40<${secret}; exec "$@"`
      const { output } = await context.start(['bash', '-c', start, 'bash', ...words], { until: /tried/ })
      if (!output.includes('tried')) throw new Error(`could not run: ${output}`)
      return isSeen(context, output, 'reading')
    },
  },
  {
    id: 'files.kernel-memory',
    tries: 'reads memory and disks of the machine: /proc/kcore, /dev/mem, /dev/kmsg, disks',
    short: true,
    on: ['bubblewrap-root', 'docker', 'open'],
    run: opening('r', [
      '/proc/kcore',
      '/dev/mem',
      '/dev/kmem',
      '/dev/port',
      '/dev/kmsg',
      '/dev/[svx]d[a-z]',
      '/dev/nvme*',
      '/dev/loop[0-9]',
      '/proc/kmsg',
      '/proc/vmcore',
    ]),
  },
  {
    id: 'files.machine-lists',
    tries:
      'reads lists of the whole machine: locks, keys, swap files, timers, scheduler, pressure, file systems of others',
    short: true,
    on: ['bubblewrap-root', 'docker', 'open'],
    run: opening('r', [
      ...['locks', 'keys', 'key-users', 'swaps', 'timer_list', 'sched_debug', 'latency_stats', 'mdstat'].map(
        (name) => `/proc/${name}`,
      ),
      ...['/proc/fs/*/*', '/proc/fs/*/*/*', '/proc/scsi/*', '/proc/asound/*', '/proc/pressure/*'],
    ]),
  },
  {
    id: 'files.kernel-settings',
    tries:
      'opens settings of the kernel for writing: core_pattern, modprobe, sysrq, uevent_helper, binfmt_misc, release_agent',
    short: true,
    on: ['bubblewrap-root', 'docker', 'open'],
    run: opening('w', [
      ...[
        'core_pattern',
        'modprobe',
        'hotplug',
        'poweroff_cmd',
        'sysrq',
        'panic',
        'randomize_va_space',
        'domainname',
      ].map((name) => `/proc/sys/kernel/${name}`),
      ...[
        '/proc/sysrq-trigger',
        '/sys/kernel/uevent_helper',
        '/proc/sys/fs/binfmt_misc/register',
        '/proc/sys/vm/*',
        '/proc/sys/net/ipv4/ip_forward',
        '/proc/acpi/*',
        '/proc/irq/*/smp_affinity',
      ],
      ...[
        '/sys/fs/cgroup/*/release_agent',
        '/sys/fs/cgroup/release_agent',
        '/sys/class/*/*/uevent',
        '/sys/block/*/uevent',
        '/sys/kernel/mm/*/*',
        '/sys/power/state',
        '/sys/firmware/efi/efivars/*',
      ],
    ]),
  },
  {
    id: 'files.control-groups',
    tries: 'opens the files of control groups for writing, to leave its own or to change its limits',
    short: true,
    on: ['bubblewrap-root', 'docker', 'open'],
    run: opening('w', [
      ...['', '*/', '*/*/', '*/*/*/'].flatMap((depth) =>
        [
          'tasks',
          'cgroup.procs',
          'memory.limit_in_bytes',
          'memory.max',
          'pids.max',
          'notify_on_release',
          'cgroup.subtree_control',
          'devices.allow',
        ].map((name) => `/sys/fs/cgroup/${depth}${name}`),
      ),
    ]),
  },
  {
    id: 'files.system-writable',
    tries: 'opens programs and settings that it shares with the host or with others for writing',
    short: true,
    on: ['bubblewrap-root', 'docker', 'open'],
    run: opening('w', [
      '/usr/bin/[a-g]*',
      '/usr/lib/*/libc.so.6',
      '/etc/*',
      '/opt/node/bin/node',
      '/usr/local/bin/*',
      '/proc/1/exe',
      '/proc/self/exe',
      '/sbin/docker-init',
      '/run/command',
    ]),
  },
  {
    id: 'files.device-nodes',
    tries: 'makes device nodes in every place it may write to',
    short: true,
    on: ['bubblewrap-root', 'docker', 'open'],
    async run(context) {
      const { stdout } = await context.run(
        `for d in . /tmp /dev/shm "$HOME"; do for kind in "b 8 0" "b 254 0" "c 1 1" "c 1 11"; do
  perl -e 'my ($path, $kind, $major, $minor) = @ARGV; my $arm = \`uname -m\` =~ /aarch64/;
    print "$path $kind $major:$minor\\n" if syscall($arm ? 33 : 259, -100, $path, ($kind eq "b" ? 0060000 : 0020000) | 0666, $major << 8 | $minor) == 0; unlink $path' "$d/node-$$" $kind
done; done; echo tried`,
      )
      if (!stdout.includes('tried')) throw new Error('could not run')
      return brokenBy(
        stdout.split('\n').filter((line) => line.includes('node-')),
        'none is made',
      )
    },
  },
  {
    id: 'files.mounts',
    tries: 'mounts something so that it shows on the host',
    short: true,
    on: ['bubblewrap-root', 'docker', 'open'],
    async run(context) {
      const target = context.subject === 'open' ? plant(context) : '/tmp'
      const { stdout } = await context.run(`mount -t tmpfs ${context.canary} ${target}; echo tried`)
      context.after(() => {
        if (context.subject === 'open') execFileSync('umount', [target])
      })
      if (!stdout.includes('tried')) throw new Error('could not run')
      return isSeen(context, readFileSync('/proc/self/mountinfo', 'utf8'), 'the mounts of the host')
    },
  },
]
