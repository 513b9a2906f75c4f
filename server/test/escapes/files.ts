import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { makeArchive } from '../../src/sandbox/docker-archive.ts'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import type { Context } from './context.ts'
import { broken, brokenBy, held, type Probe, type Verdict } from './probe.ts'
import { livingProcesses, uniqueName } from './processes.ts'

/** Places of the host where somebody keeps something, and whether everybody may write there. */
const HOST_PLACES: Array<[name: string, path: string]> = [
  ['tmp', '/tmp'],
  ['var-tmp', '/var/tmp'],
  ['dev-shm', '/dev/shm'],
  ['run', '/run/lock'],
  ['root-home', '/root'],
  ['home', '/home'],
  ['srv', '/srv'],
  ['mnt', '/mnt'],
  ['var-lib', '/var/lib'],
  ['etc', '/etc'],
]
const OPEN_TO_ALL = ['tmp', 'var-tmp', 'dev-shm', 'run']

/** A directory of the host with a file `secret` that holds the canary, readable by everybody who gets there. */
export function plant(context: Context, parent = tmpdir()): string {
  const directory = mkdtempSync(join(parent, 'runyard-secret-'))
  context.after(() => rmSync(directory, { recursive: true, force: true }))
  writeFileSync(join(directory, 'secret'), context.canary, { mode: 0o666 })
  execFileSync('chmod', ['0777', directory])
  return directory
}

export const isSeen = (context: Context, text: string, what: string): Verdict =>
  text.includes(context.canary) ? broken(`${what} gave the canary`) : held(`${what} did not`)

/** Reads `file` in whatever way the file operations of the sandbox offer to its caller. */
async function readEveryWay(context: Context, sandbox: Sandbox, file: string): Promise<Verdict> {
  const refusals: string[] = []
  const text = await sandbox.readFile(file).then(String, (error) => {
    refusals.push(error.code)
    return ''
  })
  return isSeen(context, text, `readFile (${refusals.join() || 'read'})`)
}

export const FILES: Probe[] = [
  ...HOST_PLACES.map(
    ([name, parent]): Probe => ({
      id: `files.host-${name}`,
      tries: `reads a file of the host below ${parent}, by its path, by .. and by /proc/1/root`,
      short: true,
      // Only root can put a file where others may not write.
      on: OPEN_TO_ALL.includes(name)
        ? ['bubblewrap-root', 'bubblewrap-user', 'docker', 'open']
        : ['bubblewrap-root', 'docker', 'open'],
      async run(context) {
        const secret = join(plant(context, parent), 'secret')
        const { stdout } = await context.run(
          `for p in '${secret}' "../../../../../../../..${secret}" "/proc/1/root${secret}" "/proc/1/cwd${secret}" \\
           "/proc/self/root${secret}"; do cat "$p" 2>/dev/null; done; echo tried`,
        )
        if (!stdout.includes('tried')) throw new Error(`could not run: ${stdout}`)
        return isSeen(context, stdout, 'reading')
      },
    }),
  ),
  {
    id: 'files.shadow',
    tries: 'reads the password hashes of /etc/shadow',
    short: true,
    run: async (context) =>
      brokenBy(
        (await context.perl('open.pl', ['r', '/etc/shadow', '/etc/gshadow'])).split('\n').filter(Boolean),
        'no byte',
      ),
  },
  {
    id: 'files.ssl-private',
    tries: 'finds the private keys of /etc/ssl/private',
    short: true,
    on: ['bubblewrap-root', 'bubblewrap-user', 'open'],
    async run(context) {
      if (!existsSync('/etc/ssl/private')) throw new Error('could not run: this host has no /etc/ssl/private')
      const { stdout } = await context.run(
        '[ -e /etc/ssl/private ] && echo seen; [ -d /etc/ssl/certs ] && echo certs',
      )
      return stdout.includes('seen') ? broken('/etc/ssl/private is there') : held(`only ${stdout.trim()}`)
    },
  },
  {
    id: 'files.ssh-keys',
    tries: 'finds keys and credentials of the accounts of the host',
    short: true,
    run: async (context) =>
      brokenBy(
        (
          await context.perl('open.pl', [
            'r',
            ...['/root', '/home/*', process.env.HOME ?? '/root'].flatMap((home) =>
              [
                '.ssh/*',
                '.netrc',
                '.config/*/*',
                '.docker/config.json',
                '.aws/*',
                '.npmrc',
                '.bashrc',
                '.profile',
              ].map((name) => `${home}/${name}`),
            ),
          ])
        )
          .split('\n')
          .filter(Boolean)
          // The sandbox's own home.
          .filter((path) => !path.startsWith('/home/agent/')),
        'none is there',
      ),
  },
  {
    id: 'files.engine-sockets',
    tries: 'connects to the sockets of the Docker engine and of the system',
    short: true,
    // Only root and its group may connect on the host.
    on: ['bubblewrap-root', 'docker', 'open'],
    async run(context) {
      const paths = [
        '/var/run/docker.sock',
        '/run/docker.sock',
        '/run/containerd/containerd.sock',
        '/run/dbus/system_bus_socket',
        '/run/systemd/private',
      ]
      const said = await context.perl(
        'connect.pl',
        paths.map((path) => `unix:${path}`),
      )
      return brokenBy(
        said.split('\n').filter((line) => line.endsWith(' connected')),
        'none answers',
      )
    },
  },
  {
    id: 'files.host-socket',
    tries: 'connects to a Unix socket that a service of the host has in /tmp',
    short: true,
    async run(context) {
      const directory = plant(context)
      const { createServer } = await import('node:net')
      let connections = 0
      const server = createServer((socket) => {
        connections++
        socket.destroy()
      })
      const path = join(directory, 'socket')
      await new Promise<void>((resolve) => server.listen({ path, writableAll: true }, resolve))
      context.after(() => new Promise((resolve) => server.close(resolve)))
      const said = await context.perl('connect.pl', [`unix:${path}`, `unix:/proc/1/root${path}`])
      return connections > 0 ? broken(`${connections} connections`) : held(said.trim())
    },
  },
  {
    id: 'files.data-directory',
    tries: 'reads the data directory of the service by its path on the host',
    short: true,
    async run(context) {
      const secret = join(context.data_dir, `secret-${context.canary}`)
      writeFileSync(secret, context.canary, { mode: 0o644 })
      context.after(() => rmSync(secret))
      const { stdout } = await context.run(
        `cat ${secret}; for d in /mnt /media /srv /opt /home; do cat $d/*/secret-* $d/*/*/secret-*; done; grep -rsF ${context.canary} /mnt /media /srv /home`,
      )
      return isSeen(context, stdout, 'reading')
    },
  },
  {
    id: 'files.other-sandbox',
    tries: 'reads workspace, home, /tmp and /dev/shm of another sandbox, by any path and by its processes',
    short: true,
    async run(context) {
      const victim = await context.create()
      const name = uniqueName()
      const handle = victim.exec({
        command: `for d in /workspace /tmp "$HOME" /dev/shm .; do echo ${context.canary} > "$d/secret-${name}"; done 2>/dev/null; exec 7< secret-${name}; echo ready; exec -a x perl -e '$0 = "${name}"; sleep 60'`,
      })
      context.after(() => handle.kill())
      context.after(
        () =>
          victim.exec({ command: `rm -f /tmp/secret-${name} "$HOME/secret-${name}" /dev/shm/secret-${name}` })
            .exit,
      )
      for await (const { data } of handle.output) if (String(Buffer.from(data)).includes('ready')) break
      const { stdout } = await context.run(
        `cat /workspace/secret-${name} /tmp/secret-${name} "$HOME/secret-${name}" /dev/shm/secret-${name}
for p in /proc/[0-9]*; do cat $p/cwd/secret-${name} $p/fd/7 $p/root/tmp/secret-${name} $p/root/workspace/secret-${name} < /dev/null; done
cat ${context.data_dir}/sandboxes/*/*/workspace/secret-${name} /var/lib/docker/volumes/*/_data/secret-${name}
for d in /mnt /media /srv /opt /home; do cat $d/*/*/workspace/secret-${name}; done`,
        { timeout_ms: 10_000 },
      )
      return isSeen(context, stdout, 'reading')
    },
  },
  {
    id: 'files.read-through-link',
    tries: 'has the service read a file of the host through links planted in the workspace',
    short: true,
    async run(context) {
      const directory = plant(context)
      const sandbox = await context.create()
      await context.run(
        `ln -s ${directory}/secret file; ln -s ${directory} folder; ln -s / root; mkdir a; ln -s ../../../.. a/up`,
        { sandbox },
      )
      for (const path of [
        'file',
        'folder/secret',
        `root${directory}/secret`,
        `a/up${directory}/secret`,
        `../../../../../../..${directory}/secret`,
        `${directory}/secret`,
      ]) {
        const verdict = await readEveryWay(context, sandbox, path)
        if (verdict.broken) return broken(`${path}: ${verdict.evidence}`)
      }
      const names = await sandbox.listDirectory('folder').catch(() => [])
      const stat = await sandbox.stat('folder/secret').catch(() => null)
      return names.length > 0 || stat
        ? broken('the folder of the host could be listed')
        : held('nothing was read')
    },
  },
  {
    id: 'files.write-through-link',
    tries: 'has the service write to, or delete, a file of the host through links planted in the workspace',
    short: true,
    async run(context) {
      const directory = plant(context)
      const sandbox = await context.create()
      await context.run(`ln -s ${directory}/secret file; ln -s ${directory} folder; ln -s / root`, {
        sandbox,
      })
      for (const path of [
        'file',
        'folder/secret',
        'folder/new',
        `root${directory}/new`,
        `../../../../../..${directory}/new`,
      ])
        await sandbox.writeFile(path, 'written').catch(() => {})
      for (const path of ['folder/secret', `root${directory}/secret`])
        await sandbox.deleteFile(path).catch(() => {})
      const changed = [
        ...(existsSync(join(directory, 'new')) ? ['a file was made'] : []),
        ...(existsSync(join(directory, 'secret')) ? [] : ['a file was deleted']),
        ...(existsSync(join(directory, 'secret')) &&
        readFileSync(join(directory, 'secret'), 'utf8') !== context.canary
          ? ['a file was changed']
          : []),
      ]
      return brokenBy(changed, 'the folder of the host is as it was')
    },
  },
  {
    id: 'files.import-archive',
    tries: 'unpacks an archive with absolute names, .., links out and files through them',
    short: true,
    async run(context) {
      const directory = plant(context)
      const source = mkdtempSync(join(tmpdir(), 'runyard-archive-'))
      context.after(() => rmSync(source, { recursive: true }))
      mkdirSync(join(source, 'x'))
      writeFileSync(join(source, 'x', 'new'), 'planted')
      const up = '../'.repeat(12)
      // tar itself strips what leads out: names are changed as they are written.
      const archives = [
        ['--absolute-names', '--transform', `s,^x/new,${directory}/new,`, 'x/new'],
        ['--absolute-names', '--transform', `s,^x/new,${up}${directory.slice(1)}/new,`, 'x/new'],
      ].map((args) => execFileSync('tar', ['-C', source, '-cf', '-', ...args]))
      const sandbox = await context.create()
      for (const archive of archives) await sandbox.importTar(Readable.from([archive])).catch(() => {})
      // A link first, then a file through it.
      await context.run(`ln -sfn ${directory} link`, { sandbox })
      await sandbox.importTar(Readable.from([makeArchive({ 'link/new': 'planted' })])).catch(() => {})
      await sandbox.importTar(Readable.from([makeArchive({ new: 'planted' })]), 'link').catch(() => {})
      return existsSync(join(directory, 'new'))
        ? broken('a file was planted on the host')
        : held('nothing left the sandbox')
    },
  },
  {
    id: 'files.import-setuid',
    tries: 'unpacks a setuid program that belongs to root',
    short: true,
    on: ['bubblewrap-root', 'docker', 'open'],
    async run(context) {
      const source = mkdtempSync(join(tmpdir(), 'runyard-archive-'))
      context.after(() => rmSync(source, { recursive: true }))
      writeFileSync(join(source, 'su'), '#!/bin/sh\nid -u\n')
      execFileSync('chmod', ['4755', join(source, 'su')])
      const sandbox = await context.create()
      const archive = execFileSync('tar', [
        '-C',
        source,
        '--owner=0',
        '--group=0',
        '--numeric-owner',
        '-cf',
        '-',
        'su',
      ])
      await sandbox.importTar(Readable.from([archive]))
      const { stdout } = await context.run('stat -c "%u %a" su', { sandbox })
      return /^0 4/.test(stdout) ? broken(`it is ${stdout.trim()}`) : held(`it is ${stdout.trim()}`)
    },
  },
  {
    id: 'files.export-archive',
    tries: 'has the service archive a folder of the host through links in the workspace',
    short: true,
    async run(context) {
      const directory = plant(context)
      const sandbox = await context.create()
      await context.run(
        `ln -s ${directory} folder; ln -s ${directory}/secret file; ln ${directory}/secret hard`,
        { sandbox },
      )
      const archives = await Promise.all(
        ['/workspace', '/workspace/folder', directory].map((path) =>
          buffer(sandbox.exportTar(path)).catch(() => Buffer.alloc(0)),
        ),
      )
      return isSeen(context, Buffer.concat(archives).toString('latin1'), 'the archives')
    },
  },
  {
    id: 'files.empty-folder-oracle',
    tries: 'learns by a link whether a folder of the host is empty',
    short: true,
    on: ['bubblewrap-root', 'bubblewrap-user', 'open'],
    shut: 'the host backend looks the same way and follows no link either',
    async run(context) {
      const directory = plant(context)
      mkdirSync(join(directory, 'empty'))
      const sandbox = await context.create()
      await context.run(`ln -s ${directory}/empty empty; ln -s ${directory} full; mkdir really`, { sandbox })
      if (!(await sandbox.isEmpty?.('really')))
        throw new Error('could not run: an empty folder is not seen as one')
      const seen = await Promise.all(['empty', 'full'].map((name) => sandbox.isEmpty?.(name)))
      return seen[0] === seen[1] ? held('both look alike') : broken('an empty one looks empty')
    },
  },
  {
    id: 'files.survives-destroy',
    tries:
      'leaves files behind when its sandbox is destroyed: read-only folders, links, deep trees, odd names',
    short: true,
    shut: 'removal is the same on the host',
    on: ['bubblewrap-root', 'bubblewrap-user', 'docker'],
    async run(context) {
      const directory = plant(context)
      const sandbox = await context.create()
      const name = uniqueName()
      await context.run(
        `ln -s ${directory} link; mkdir -p ${name}/a/b; echo x > ${name}/a/b/c; chmod 000 ${name}/a/b; chmod 555 ${name}/a ${name}; touch -- '-rf' $'new\\nline'; p=.; for i in $(seq 300); do mkdir -p deep; cd deep; done`,
        { sandbox },
      )
      await sandbox.destroy()
      if (!existsSync(join(directory, 'secret')))
        return broken('a folder of the host was emptied through a link')
      const left = execFileSync('find', [context.data_dir, '-name', name], { encoding: 'utf8' }).trim()
      const living = livingProcesses(name)
      return left || living.length > 0 ? broken(`left behind: ${left} ${living}`) : held('nothing is left')
    },
  },
]
