import { existsSync, lstatSync, readlinkSync } from 'node:fs'

import { dirname, join } from 'node:path'
import { type BubblewrapHost, npmOf } from './bubblewrap-host.ts'
import { DESCRIPTORS } from './bubblewrap-process.ts'
import { HIDDEN_FILES, HIDDEN_FOLDERS, resourceLimits } from './kernel-limits.ts'
import { makeFence } from './namespace-fence.ts'
import { type EgressPolicy, quote, type SandboxLimits, TOOLS_PLACE } from './sandbox.ts'
import { isUnder, type Staging } from './staging.ts'
import type { Launch } from './starter.ts'

/** Directories and files of one sandbox on the host. */
export interface BubblewrapPlaces {
  workspace: string
  home: string
  tmp: string
  /** Shared by all sandboxes: `passwd`, `group`, `gitconfig`, `hosts`, `resolv.conf`. */
  common: string
}

export interface BubblewrapCommand {
  places: BubblewrapPlaces
  /** The sandbox's user on the host; `null`: the one the service runs as. */
  uid: number | null
  /** Files in which the process joins the sandbox's control group before it becomes `bwrap`. */
  join_files: string[]
  /** While this file exists nothing is started. */
  frozen_file: string
  /** Once this file exists the sandbox has another owner and nothing is started any more. */
  successor_file: string
  limits: SandboxLimits
  weak_limits: boolean
  egress: EgressPolicy
  env: Record<string, string>
  /** What reads the script: `host.shell`, or a smaller one. */
  shell: string
}

const NODE_PREFIX = '/opt/node'
const SHM_BYTES = 64 * 1024 ** 2
export const COMMAND_FILE = '/run/command'
/** Of `/etc` only what programs need to run; no accounts, private keys or configuration that may hold credentials. */
const ETC = [
  'alternatives',
  'bash.bashrc',
  'ca-certificates',
  'ca-certificates.conf',
  'crypto-policies',
  'debian_version',
  'fonts',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'localtime',
  'magic',
  'mime.types',
  'nsswitch.conf',
  'os-release',
  'perl',
  'pki/ca-trust',
  'pki/tls/cert.pem',
  'pki/tls/certs',
  'pki/tls/openssl.cnf',
  'protocols',
  'python3',
  'services',
  'ssl/certs',
  'ssl/openssl.cnf',
  'terminfo',
  'timezone',
]

/**
 * The program and arguments that become `bwrap` in the sandbox's control group, under the sandbox's user and with an
 * empty environment: what PID 1 of a sandbox is started with, every process in it can read. The arguments proper go
 * through a descriptor, since command lines are readable too.
 */
export function makeLaunch(host: BubblewrapHost, command: BubblewrapCommand): Launch {
  const identity =
    command.uid === null
      ? []
      : [host.setpriv, `--reuid=${command.uid}`, `--regid=${command.uid}`, '--clear-groups', '--']
  const words = [
    '/usr/bin/env',
    '-i',
    // A shell has its background programs ignore these two, and the starter is one.
    '--default-signal=INT,QUIT',
    ...identity,
    ...(host.fence ? makeFence(host.fence, resourceLimits(command.limits)) : []),
    host.bwrap,
    '--args',
    String(DESCRIPTORS.arguments),
    '--',
    command.shell,
    COMMAND_FILE,
  ]
  const script = [
    ...host.inherited.map((descriptor) => `exec ${descriptor}>&-`),
    `while [ -e ${quote(command.frozen_file)} ]; do sleep 0.1; done`,
    `[ ! -e ${quote(command.successor_file)} ] || exit 125`,
    ...command.join_files.map((file) => `echo 0 > ${quote(file)} || exit 125`),
    // When memory runs out on the host, sandboxes go before the service does.
    'echo 500 > /proc/self/oom_score_adj',
    ...host.staging.script,
    `exec ${words.map(quote).join(' ')}`,
  ].join('\n')
  // A plain sh cannot name descriptors above 9. Bash takes a socket as standard input for a remote login and would read
  // the service's own .bashrc.
  const shell: Launch = host.inherited.length > 0 ? [host.shell, '--norc', '-c'] : ['/bin/sh', '-c']
  return host.staging.script.length > 0
    ? [host.unshare, '--mount', '--propagation', 'private', ...shell, script]
    : [...shell, script]
}

/** What `bwrap` reads from its arguments descriptor. */
export function makeArguments(host: BubblewrapHost, command: BubblewrapCommand): Buffer {
  const { places } = command
  const at = host.staging.at
  const words = [
    ...['--unshare-all', '--unshare-user', '--disable-userns', '--die-with-parent', '--new-session'],
    ...['--uid', '1000', '--gid', '1000', '--hostname', 'sandbox', '--cap-drop', 'ALL'],
    ...(command.egress === 'open' && !host.network ? ['--share-net'] : []),
    ...systemDirectories(),
    ...etcFiles(host, at(places.common), command.egress),
    ...nodeFiles(host.node, at),
    ...(host.tools ? ['--ro-bind', at(host.tools), TOOLS_PLACE] : []),
    ...['--proc', '/proc', ...hiddenPlaces(), '--dev', '/dev'],
    ...['--perms', '1777', '--size', String(SHM_BYTES), '--tmpfs', '/dev/shm'],
    ...['--mqueue', '/dev/mqueue', '--remount-ro', '/dev'],
    ...['--bind', at(places.tmp), '/tmp', '--symlink', '../tmp', '/var/tmp'],
    ...['--bind', at(places.home), '/home/agent', '--bind', at(places.workspace), '/workspace'],
    ...['--ro-bind-data', String(DESCRIPTORS.command), COMMAND_FILE, '--remount-ro', '/'],
    ...['--seccomp', String(DESCRIPTORS.seccomp), '--json-status-fd', String(DESCRIPTORS.status)],
    // Where nobody inside can be kept out; the script goes on from there.
    ...['--chdir', '/', '--clearenv'],
    ...Object.entries({ ...defaultEnvironment(host), ...command.env }).flatMap(([name, value]) => [
      '--setenv',
      name,
      value,
    ]),
  ]
  return Buffer.from(`${words.join('\0')}\0`)
}

/** What a shell does in the sandbox before anything of an agent's runs, on one line. */
export function makePreparation({
  limits,
  weak_limits,
}: Pick<BubblewrapCommand, 'limits' | 'weak_limits'>): string {
  // Set inside: there the number of processes is counted by sandbox, not by the user's whole session. Shells call it either.
  const weak = `{ ulimit -u ${limits.pids} || ulimit -p ${limits.pids}; } 2>/dev/null; ulimit -d ${Math.ceil(limits.memory_bytes / 1024)}; `
  return `umask 022; ulimit -c 0; ${weak_limits ? weak : ''}`
}

/** The script the sandbox's shell reads; what precedes the command stands on its first line to keep line numbers. */
export function makeScript(preparation: string, cwd: string, command: string): string {
  return `${preparation}cd -- ${quote(cwd)} || exit 126; ${command}\n`
}

/** Of the machine, which sandboxes see at the same places. */
const SYSTEM_FOLDERS = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']

/** Where of this machine a sandbox finds programs. */
export const programFolders = ({ node }: Pick<BubblewrapHost, 'node'>): string[] =>
  isUnder(node, '/usr') ? [dirname(node), ...SYSTEM_FOLDERS] : SYSTEM_FOLDERS

function defaultEnvironment(host: BubblewrapHost): Record<string, string> {
  const node = isUnder(host.node, '/usr') ? dirname(host.node) : join(NODE_PREFIX, 'bin')
  return {
    PATH: [node, ...SYSTEM_FOLDERS].join(':'),
    HOME: '/home/agent',
    USER: 'agent',
    LOGNAME: 'agent',
    SHELL: host.shell,
    LANG: 'C.UTF-8',
    TERM: 'dumb',
  }
}

/** As container engines hide them. */
function hiddenPlaces(): string[] {
  return [
    ...HIDDEN_FILES.filter((path) => existsSync(path)).flatMap((path) => ['--ro-bind', '/dev/null', path]),
    ...HIDDEN_FOLDERS.filter((path) => existsSync(path)).flatMap((path) => [
      ...['--perms', '0555', '--tmpfs', path, '--remount-ro', path],
    ]),
  ]
}

function systemDirectories(): string[] {
  const words = ['--ro-bind', '/usr', '/usr']
  for (const name of ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32']) {
    const path = `/${name}`
    if (!existsSync(path)) continue
    if (lstatSync(path).isSymbolicLink()) words.push('--symlink', readlinkSync(path), path)
    else words.push('--ro-bind', path, path)
  }
  return words
}

function etcFiles(host: BubblewrapHost, common: string, egress: EgressPolicy): string[] {
  const open = egress === 'open'
  // The machine's name server may listen on its loopback address only.
  const names = host.network ? join(common, 'resolv.conf') : '/etc/resolv.conf'
  return [
    ...ETC.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
    ...['passwd', 'group', 'gitconfig'].flatMap((name) => ['--ro-bind', join(common, name), `/etc/${name}`]),
    ...['--ro-bind', open ? '/etc/hosts' : join(common, 'hosts'), '/etc/hosts'],
    ...(open ? ['--ro-bind-try', names, '/etc/resolv.conf'] : []),
  ]
}

function nodeFiles(node: string, at: Staging['at']): string[] {
  if (isUnder(node, '/usr')) return []
  const words = ['--ro-bind', at(node), join(NODE_PREFIX, 'bin/node')]
  if (existsSync(npmOf(node))) {
    words.push('--ro-bind', at(npmOf(node)), join(NODE_PREFIX, 'lib/node_modules/npm'))
    for (const name of ['npm', 'npx'])
      words.push('--symlink', `../lib/node_modules/npm/bin/${name}-cli.js`, join(NODE_PREFIX, 'bin', name))
  }
  return words
}
