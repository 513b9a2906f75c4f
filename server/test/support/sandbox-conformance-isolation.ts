import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { tellMemoryKills } from '../../src/harness/memory-limit.ts'
import { addressOfHost } from './host-address.ts'
import { addressForPods } from './kubernetes-cluster.ts'
import { eventually, processesWith, run, type Subject, uniqueSeconds } from './sandbox-conformance.ts'

const MiB = 1024 ** 2

export function testIsolation(subject: Subject): void {
  const { backend, create, spec } = subject
  const { capabilities } = backend

  if (capabilities.isolation === 'none') {
    test('says that it isolates nothing and refuses what it cannot enforce', async () => {
      assert.match(backend.description, /NO ISOLATION/)
      assert.equal(capabilities.limits, 'none')
      await assert.rejects(backend.create(spec({ egress: 'none' })), { name: 'SandboxFault' })
    })
  } else {
    test('symlinks and .. lead only where the agent could go itself', async () => {
      const sandbox = await create()
      const secret = await mkdtemp(join(tmpdir(), 'runyard-secret-'))
      await writeFile(join(secret, 'file'), 'of the host')
      await run(sandbox, `ln -s /etc/shadow shadow; ln -s ${secret} directory; ln -s / root`)
      const paths = ['shadow', `directory/file`, `root${secret}/file`, `../../../../..${secret}/file`]
      for (const path of paths) {
        const text = await sandbox.readFile(path).then(String, (error) => error.code)
        // An image may have a shadow file of its own, which its user cannot read either.
        assert.match(text, /^(ENOENT|EACCES)$/, path)
      }
      // Written through a link, it lands inside.
      await run(sandbox, 'ln -s /tmp escape')
      await sandbox.writeFile(`escape/${secret.split('/').at(-1)}.txt`, 'inside')
      assert.equal(existsSync(`${secret}.txt`), false)
      await sandbox.destroy()
      await rm(secret, { recursive: true })
    })

    test('the system is read-only; workspace, /tmp and home are not', async () => {
      const sandbox = await create()
      for (const path of ['/', '/usr', '/usr/bin', '/etc', '/dev', '/proc/sys/kernel/core_pattern', '/opt']) {
        const target = path.startsWith('/proc') ? path : join(path, 'planted')
        assert.notEqual((await run(sandbox, `echo x > ${target}`)).exit.code, 0, path)
      }
      const writable = 'for d in /workspace /tmp "$HOME"; do echo x > "$d/planted" || exit 1; done'
      assert.equal((await run(sandbox, writable)).exit.code, 0)
      const { stdout } = await run(sandbox, 'cat /tmp/planted "$HOME/planted"; id -u')
      assert.match(stdout, /^x\nx\n[1-9]\d+\n$/, 'they last from one command to the next')
      await sandbox.destroy()
    })

    test('its user has a name, at home and with a shell, which nobody inside can change', async () => {
      const sandbox = await create()
      const { stdout } = await run(
        sandbox,
        `whoami; id -un; id -gn; perl -e 'print((getpwuid $<)[0], "\n", (getpwnam "agent")[2] == $< ? "same" : "other", "\n")'
        env -i "$(command -v node)" -p 'var {username, homedir, shell} = os.userInfo(); username + homedir + (shell === process.argv[1])' "$SHELL"
        getent passwd root | cut -d: -f1,3; cut -d: -f1 /etc/passwd | grep -x nobody; [ "$LOGNAME:$HOME" = "$(id -un):$(getent passwd agent | cut -d: -f6)" ] && echo fits
        if command -v ssh > /dev/null; then ssh -T -G localhost | grep "^user "; else echo user agent; fi
        if command -v python3 > /dev/null; then env -i "$(command -v python3)" -c 'import getpass; print(getpass.getuser())'; else echo agent; fi
        git init -q repo; cd repo; git commit -q --allow-empty -m x; git log --format=%an`,
      )
      assert.deepEqual(stdout.split('\n'), [
        ...['agent', 'agent', 'agent', 'agent', 'same', 'agent/home/agenttrue', 'root:0', 'nobody', 'fits'],
        ...['user agent', 'agent', 'Runyard agent', ''],
      ])
      const changes = [
        'echo x >> /etc/passwd',
        'chmod 666 /etc/passwd',
        'rm /etc/group',
        'mv /etc/passwd /tmp',
      ]
      for (const change of changes) assert.notEqual((await run(sandbox, change)).exit.code, 0, change)
      await sandbox.destroy()
    })

    test('holds no privilege: no mounts, namespaces, key rings or other users', async () => {
      const sandbox = await create()
      const { stdout } = await run(
        sandbox,
        'grep -E "^(CapEff|CapPrm|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status',
      )
      const status = Object.fromEntries(stdout.split('\n').map((line) => line.split(':\t')))
      assert.deepEqual([status.CapEff, status.CapPrm], ['0000000000000000', '0000000000000000'])
      assert.deepEqual([status.NoNewPrivs, status.Seccomp], ['1', '2'])
      assert.notEqual((await run(sandbox, 'mount -t tmpfs none /tmp')).exit.code, 0)
      assert.notEqual((await run(sandbox, 'unshare --user true')).exit.code, 0)
      const keyctl = process.arch === 'arm64' ? 219 : 250
      const denied = await run(
        sandbox,
        `perl -e 'syscall(${keyctl}, 0, -3, 0) >= 0 and print "allowed"; print $!+0'`,
      )
      assert.equal(denied.stdout, '1', 'EPERM')
      await sandbox.destroy()
    })

    test('nothing of the worker is visible: neither its environment nor its descriptors nor its processes', async () => {
      const canary = `canary-${randomUUID()}`
      const seen = await subject.elsewhere(
        {
          action: 'run',
          spec: spec(),
          command: `cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\0' '\\n'; env; perl -e 'opendir $d, "/proc/self/fd"; print "fds: ", join " ", sort grep /\\d/, readdir $d'`,
        },
        { CANARY: canary },
      )
      assert.ok(!seen.includes(canary))
      assert.ok(!seen.includes('sandbox-process.ts'))
      // The fourth is the directory being listed.
      assert.match(seen, /^fds: 0 1 2 3$/m)
    })

    test('what a command is given never stands in a command line of the host', async () => {
      const sandbox = await create()
      const [secret, seconds] = [`secret-${randomUUID()}`, uniqueSeconds()]
      const handle = sandbox.exec({ command: `sleep ${seconds}`, env: { SECRET: secret } })
      await eventually('the command runs', () => processesWith(seconds).length > 0)
      assert.deepEqual(processesWith(secret), [])
      assert.deepEqual(processesWith(`SECRET=${secret}`), [])
      await handle.kill()
      await sandbox.destroy()
    })

    test('two sandboxes see neither files nor processes of each other', async () => {
      const [one, two] = [await create(), await create()]
      const seconds = uniqueSeconds()
      await run(one, 'echo mine > mine; echo mine > /tmp/mine; echo mine > "$HOME/mine"')
      const handle = one.exec({ command: `sleep ${seconds}` })
      await eventually('the command runs', () => processesWith(seconds).length > 0)
      const { stdout } = await run(
        two,
        `cat mine /tmp/mine "$HOME/mine" 2>/dev/null; grep -la ${seconds} /proc/[0-9]*/cmdline | grep -v "/$$/"; ls /dev/shm`,
        { stdin: '' },
      )
      assert.equal(stdout.replaceAll(/^\/proc\/\d+\/cmdline$/gm, '').trim(), '')
      await handle.kill()
      await Promise.all([one.destroy(), two.destroy()])
    })

    test('no network unless it was opened', async () => {
      let connections = 0
      const server = createServer((socket) => {
        connections++
        socket.end('hello\n')
      })
      // A container reaches the host by its gateway.
      await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
      const { port } = server.address() as AddressInfo
      const connect = `
host=${subject.name === 'kubernetes' ? addressForPods() : addressOfHost()}
gateway=$(awk '$2 == "00000000" { print $3; exit }' /proc/net/route)
[ -z "$gateway" ] || [ ${subject.name} != docker ] || host=$(echo "$gateway" | sed 's/\\(..\\)\\(..\\)\\(..\\)\\(..\\)/printf "%d.%d.%d.%d" 0x\\4 0x\\3 0x\\2 0x\\1/' | sh)
bash -c "cat < /dev/tcp/$host/${port}"`
      const [closed, open] = [await create(), await create({ egress: 'open' })]
      const refused = await run(closed, connect, { timeout_ms: 10_000 })
      assert.notEqual(refused.exit.code, 0)
      assert.equal(connections, 0)
      // A Pod has its interface whatever it may reach.
      if (subject.name !== 'kubernetes') {
        const interfaces = await run(closed, `tail -n +3 /proc/net/dev | cut -d: -f1`)
        assert.deepEqual(interfaces.stdout.trim().split(/\s+/), ['lo'])
      }
      assert.equal((await run(open, connect, { timeout_ms: 10_000 })).stdout, 'hello\n')
      assert.equal(connections, 1)
      await Promise.all([closed.destroy(), open.destroy()])
      await new Promise((resolve) => server.close(resolve))
    })

    test('every command of many gets its open network', async () => {
      const sandbox = await create({ egress: 'open' })
      for (let round = 0; round < 12; round++) {
        const results = await Promise.all(Array.from({ length: 5 }, () => run(sandbox, 'echo up')))
        for (const { stdout } of results) assert.equal(stdout, 'up\n')
      }
      await sandbox.destroy()
    })

    test('an open network takes no mount away from the machine', {
      skip: process.getuid?.() !== 0 && 'only root mounts',
    }, async () => {
      const directory = mkdtempSync(join(tmpdir(), 'runyard-shared-mount-'))
      // Shared, and with one in it, as the file systems of containers are.
      const inner = join(directory, 'inner')
      const mount = (...args: string[]) => execFileSync('mount', args)
      const isMounted = () => readFileSync('/proc/self/mountinfo', 'utf8').includes(` ${inner} `)
      mount('-t', 'tmpfs', '-o', 'size=1m', 'runyard-test', directory)
      mount('--make-shared', directory)
      mkdirSync(inner)
      mount('-t', 'tmpfs', '-o', 'size=1m', 'runyard-test', inner)
      try {
        const sandbox = await create({ egress: 'open' })
        assert.equal((await run(sandbox, 'echo up')).stdout, 'up\n')
        await sandbox.destroy()
        assert.equal(isMounted(), true)
      } finally {
        spawnSync('umount', ['--recursive', directory])
        rmdirSync(directory)
      }
    })

    test('an open network is the sandbox’s own, without the machine’s loopback and abstract sockets', {
      skip: /shares the machine’s network/.test(backend.description) && backend.description,
    }, async () => {
      let connections = 0
      const listen = async (where: object) => {
        const server = createServer((socket) => {
          connections++
          socket.end('hello\n')
        })
        await new Promise<void>((resolve) => server.listen(where, resolve))
        return server
      }
      const name = `runyard-test-${randomUUID()}`
      const loopback = await listen({ host: '127.0.0.1', port: 0 })
      const abstract = await listen({ path: `\0${name}` })
      const { port } = loopback.address() as AddressInfo
      const sandbox = await create({ egress: 'open' })
      const connect = `for (const place of [{ port: ${port}, host: '127.0.0.1' }, { port: ${port}, host: '10.0.2.2' }, { path: '\\0${name}' }])
        require('net').connect(place).on('data', () => console.log('reached', place)).on('error', ({ code }) => console.log(code))`
      const { stdout, stderr } = await run(sandbox, `node -e "${connect}"`, { timeout_ms: 20_000 })
      assert.equal(connections, 0, stdout)
      assert.equal(
        stdout
          .trim()
          .split('\n')
          .filter((line) => /^E[A-Z]+$/.test(line)).length,
        3,
        stdout + stderr,
      )
      await sandbox.destroy()
      loopback.close()
      abstract.close()
    })

    test('a list of allowed hosts needs a proxy, and a proxy needs that policy', async () => {
      const proxy = { socket: '/nowhere', uid: null, closed: new AbortController().signal }
      for (const wrong of [
        { egress: 'allowlist' },
        { egress: 'none', proxy },
        { egress: 'open', proxy },
      ] as const)
        await assert.rejects(create(wrong), { name: 'SandboxFault' })
    })

    test('every command of many reaches the proxy and nothing else, also after everything was killed', {
      skip: !capabilities.egress.includes('allowlist') && backend.description,
    }, async () => {
      const directory = await mkdtemp(join(tmpdir(), 'runyard-proxy-'))
      const socket = join(directory, 'socket')
      const server = createServer((client) => client.end('hello\n')).listen(socket)
      const limits = { ...spec().limits, pids: 40 }
      const closing = new AbortController()
      const proxy = { socket, uid: null, closed: closing.signal }
      const sandbox = await create({ egress: 'allowlist', proxy, limits })
      const command = `bash -c 'cat < /dev/tcp/127.0.0.1/3128'; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '`
      const all = async () => {
        const results = await Promise.all(Array.from({ length: 4 }, () => run(sandbox, command)))
        for (const { stdout, stderr } of results) assert.equal(stdout, 'hello\nlo\n', stderr)
      }
      for (let round = 0; round < 4; round++) await all()
      const seconds = uniqueSeconds()
      const filled = run(sandbox, `while sleep ${seconds} & do :; done 2>/dev/null; sleep ${seconds}`)
      await eventually('a full sandbox', () => processesWith(seconds).length > 20)
      await sandbox.killAll()
      await filled
      await all()
      closing.abort()
      await eventually('no way to the proxy', () => processesWith(`UNIX-CONNECT:${socket}`).length === 0)
      await sandbox.destroy()
      server.close()
      await rm(directory, { recursive: true })
    })

    test('survives a fork bomb', async () => {
      const sandbox = await create({ limits: { ...spec().limits, pids: 64 } })
      const { exit } = await run(sandbox, 'bomb() { bomb | bomb & }; bomb 2>/dev/null; sleep 60', {
        timeout_ms: 1500,
        max_output_bytes: 10_000,
      })
      assert.equal(exit.timed_out, true)
      assert.equal((await run(sandbox, 'echo usable')).stdout, 'usable\n')
      await sandbox.destroy()
    })

    test('survives a memory hog, and tells of it', async () => {
      const sandbox = await create({ limits: { ...spec().limits, memory_bytes: 128 * MiB } })
      const hog = `perl -e '$x = "a" x (64 << 20); @y = map { $x . $_ } 1 .. 20'`
      const { exit } = await run(sandbox, hog)
      assert.notEqual(exit.code, 0)
      assert.equal((await run(sandbox, 'echo usable')).stdout, 'usable\n')
      if (capabilities.limits === 'hard') {
        assert.equal(exit.signal, 'SIGKILL')
        assert.equal(await tellMemoryKills(sandbox, exit), 'killed: over the memory limit of 128 MiB')
        // One below a shell that goes on as if nothing were.
        const below = await run(sandbox, `(${hog}); true`)
        assert.equal(
          await tellMemoryKills(sandbox, below.exit),
          'killed: over the memory limit of 128 MiB: a process of the sandbox',
        )
      }
      assert.equal(await tellMemoryKills(sandbox, exit), null)
      await sandbox.destroy()
    })

    test('limits that hold are variables of its commands', async () => {
      const sandbox = await create({
        limits: { memory_bytes: 256 * MiB, cpus: 0.5, pids: 99, disk_bytes: 512 * MiB },
      })
      const { stdout } = await run(
        sandbox,
        'echo "$RUNYARD_MEMORY_LIMIT_MB $RUNYARD_CPU_LIMIT $RUNYARD_PROCESS_LIMIT $RUNYARD_DISK_LIMIT_MB"',
      )
      assert.equal(stdout.trim(), capabilities.limits === 'hard' ? '256 0.5 99 512' : '512')
      await sandbox.destroy()
    })

    test('survives a full disk and says so', async () => {
      const sandbox = await create()
      const { exit, stderr } = await run(sandbox, 'head -c 200000000 /dev/zero > /dev/shm/full')
      assert.notEqual(exit.code, 0)
      assert.match(stderr, /No space left on device/)
      await assert.rejects(sandbox.writeFile('/dev/full', 'x'), { name: 'SandboxFileError' })
      // Filling the workspace itself is left to the worker to watch: no backend here promises a quota.
      assert.equal(capabilities.disk_quota, false)
      await sandbox.destroy()
    })
  }

  test('git works and a program of the workspace runs on Node', async () => {
    const sandbox = await create()
    const { stdout, stderr } = await run(
      sandbox,
      'git init -q r && cd r && echo "console.log(6 * 7)" > a.js && git add a.js && git -c user.name=n -c user.email=e commit -q -m "a" && git log --format=%s && node a.js',
    )
    assert.equal(stdout, 'a\n42\n', stderr)
    await sandbox.destroy()
  })
}
