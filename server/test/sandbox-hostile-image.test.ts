/** What a Docker image may contain that its sandbox must not depend on, and what a registry may say. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import {
  DEFAULT_LIMITS,
  type Sandbox,
  type SandboxBackend,
  type SandboxSpec,
} from '../src/sandbox/sandbox.ts'
import { makeImage, removeImage } from './support/docker-images.ts'
import { whyNoDocker } from './support/machine.ts'
import { openBackend, TEST_IMAGE } from './support/sandbox-backends.ts'
import { eventually, processesWith, run, uniqueSeconds } from './support/sandbox-conformance.ts'

const undocked = whyNoDocker()

/** Its `sleep` does something else, and its shell says that it has killed what it has not. */
const LIARS = `
cp /usr/bin/dash /usr/bin/honest
cp /usr/bin/sleep /usr/bin/rest
cat > /liar <<'END'
#!/usr/bin/perl
exit 0 if join(" ", @ARGV) =~ /^-c .*kill -KILL/s;
exec "/usr/bin/honest", @ARGV;
END
cat > /worker <<'END'
#!/usr/bin/perl
open my $file, ">", "/dev/shm/ran-as-$<"; close $file;
$SIG{TERM} = "IGNORE"; sleep 1 while 1;
END
chmod 755 /liar /worker
mv /worker /usr/bin/sleep
mv /liar /usr/bin/dash`

describe('a hostile Docker image', { skip: undocked }, () => {
  const installation_id = randomUUID()
  const images: string[] = []
  let backend: SandboxBackend
  const spec = (overrides: Partial<SandboxSpec> = {}): SandboxSpec => ({
    run_id: randomUUID(),
    attempt: 1,
    limits: DEFAULT_LIMITS,
    egress: 'none',
    env: {},
    ...overrides,
  })
  const image = (change: string, instructions: string[] = []): string => {
    const name = makeImage(change, instructions)
    images.push(name)
    return name
  }
  before(async () => {
    backend = await openBackend('docker', { data_dir: '/nowhere', installation_id })
  })
  after(async () => {
    for (const { ref } of await backend.list()) await backend.destroy(ref)
    for (const name of images) removeImage(name)
  })

  describe('with tools that lie', () => {
    let name: string
    before(() => {
      name = image(LIARS)
    })

    test('runs nothing but commands, and nothing as root', async () => {
      const sandbox = await backend.create(spec({ image: name }))
      const uids = await run(sandbox, 'cat /proc/[0-9]*/status | grep ^Uid: | sort -u; ls /dev/shm')
      const [own = '', ...others] = uids.stdout.match(/^Uid:\t\d+/gm) ?? []
      assert.match(own, /^Uid:\t[1-9]\d{4,}$/)
      assert.deepEqual(others, ['Uid:\t65534'])
      assert.doesNotMatch(uids.stdout, /ran-as/)
      await sandbox.destroy()
    })

    test('cannot keep a command from its timeout, nor the sandbox from its end', async () => {
      const sandbox = await backend.create(spec({ image: name }))
      const [first, second] = [uniqueSeconds(), uniqueSeconds()]
      const { exit } = await run(sandbox, `setsid rest ${first} & rest ${first}`, { timeout_ms: 1_000 })
      assert.equal(exit.timed_out, true)
      await eventually('the timeout ended it', () => processesWith(first).length === 0, LIMIT_MS)
      await run(sandbox, `setsid rest ${second} > /dev/null 2>&1 < /dev/null &`)
      await eventually('it runs', () => processesWith(second).length === 1, LIMIT_MS)
      await sandbox.killAll()
      await eventually('killAll ended it', () => processesWith(second).length === 0, LIMIT_MS)
      assert.equal((await run(sandbox, 'echo usable')).stdout, 'usable\n')
      await sandbox.destroy()
    })
  })

  test('cannot put a file of the workspace in the place of process 1', async () => {
    for (const link of [
      'mv /usr/sbin/* /usr/bin/; rm /sbin; ln -s workspace/bin /sbin',
      'ln -s /workspace/init /usr/sbin/docker-init',
    ]) {
      const name = image(link)
      await assert.rejects(backend.create(spec({ image: name })), { name: 'SandboxImageError' }, link)
    }
  })

  test('cannot hold the engine up by what it has in place of its accounts', async () => {
    for (const [change, reason] of [
      ['rm /etc/group; mkfifo /etc/group', 'has no ordinary file at /etc/group'],
      ['rm /etc/passwd; mkfifo /pipe; ln -s /pipe /etc/passwd', 'has no ordinary file at /etc/passwd'],
      ['head -c 300000 /dev/zero > /etc/passwd', 'has more than 256 KiB in /etc/passwd'],
    ] as const)
      await assert.rejects(backend.create(spec({ image: image(change) })), {
        name: 'SandboxImageError',
        message: `${reason}, which sandboxes do not allow`,
      })
  })

  test('gives the sandbox’s user a name past links, and puts nothing into the workspace by one', async () => {
    const store = 'mkdir -p /nix/store/x; mv /etc/passwd /nix/store/x; ln -s /nix/store/x/passwd /etc/passwd'
    const named = await backend.create(spec({ image: image(`${store}; rm /etc/group /bin/bash`) }))
    const { stdout } = await run(named, 'whoami; id -gn; id -un 0; getent passwd agent | cut -d: -f6-')
    assert.equal(stdout, 'agent\nagent\nroot\n/home/agent:/bin/sh\n')
    await named.destroy()
    const astray =
      'rm /etc/passwd /etc/group; ln -s /workspace/passwd /etc/passwd; ln -s /tmp/group /etc/group'
    // Two files cannot be mounted in one place.
    const twice = 'rm /etc/passwd; ln -s group /etc/passwd'
    for (const change of [astray, twice]) {
      const sandbox = await backend.create(spec({ image: image(change) }))
      const seen = await run(sandbox, 'id -un; ls -A /workspace; grep -c /etc/ /proc/self/mountinfo')
      assert.equal(seen.stdout, `${await userIn(sandbox)}\n3\n`, change)
      await sandbox.destroy()
    }
  })

  test('gives no orders to tools that read the labels of containers', async () => {
    const name = image('true', ['LABEL traefik.enable=true', 'LABEL runyard.part=workspace'])
    const sandbox = await backend.create(spec({ image: name }))
    const labels = execFileSync(
      'docker',
      [
        'ps',
        '--filter',
        `label=runyard.sandbox=${sandbox.ref.id}`,
        '--format',
        '{{.Label "traefik.enable"}}|{{.Labels}}',
      ],
      { encoding: 'utf8' },
    )
    assert.match(labels, /^\|/)
    assert.doesNotMatch(labels, /part=workspace/)
    await sandbox.destroy()
  })

  test('is pulled only where that is allowed, and what a registry says stays in the log', async () => {
    let calls = 0
    const registry = createServer(({ url }, response) => {
      calls++
      response.writeHead(url === '/v2/' ? 200 : 404, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ errors: [{ code: 'MANIFEST_UNKNOWN', message: CANARY }] }))
    })
    await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve))
    const name = `127.0.0.1:${(registry.address() as AddressInfo).port}/acme/tool:1`
    const refused = await backend.create(spec({ image: name })).catch((error) => error)
    assert.deepEqual(
      [refused.name, refused.message],
      ['SandboxImageError', 'is not on this machine’s Docker engine, and it may not be pulled'],
    )
    assert.equal(calls, 0)
    const failed = await backend.create(spec({ image: name, pull: true })).catch((error) => error)
    assert.deepEqual(
      [failed.name, failed.message],
      ['SandboxImageError', 'is not there and cannot be pulled'],
    )
    assert.match(String(failed.cause), new RegExp(CANARY))
    assert.ok(calls > 0)
    registry.close()
  })
})

describe('open Docker sandboxes', { skip: undocked }, () => {
  test('reach neither each other nor other containers, and learn no run’s name', async () => {
    const backend = await openBackend('docker', { data_dir: '/nowhere', installation_id: randomUUID() })
    const made: Sandbox[] = []
    const neighbour = execFileSync('docker', ['run', '--detach', '--rm', TEST_IMAGE, 'node', '-e', SERVER], {
      encoding: 'utf8',
    }).trim()
    try {
      for (const run_id of [randomUUID(), randomUUID()])
        made.push(
          await backend.create({ run_id, attempt: 1, limits: DEFAULT_LIMITS, egress: 'open', env: {} }),
        )
      const [one, two] = made
      assert(one && two)
      const address = (await run(one, 'hostname -I')).stdout.trim()
      const server = one.exec({ command: `node -e '${SERVER}'` })
      await eventually(
        'the server listens',
        async () => (await run(one, connect(address))).stdout === 'hello',
        LIMIT_MS,
      )
      const other = execFileSync(
        'docker',
        ['inspect', '--format', '{{.NetworkSettings.IPAddress}}', neighbour],
        { encoding: 'utf8' },
      ).trim()
      for (const target of [address, other]) {
        const { stdout } = await run(two, connect(target), { timeout_ms: 3_000 })
        assert.notEqual(stdout, 'hello', target)
      }
      const names = await run(two, `node -e 'require("dns").reverse("${address}", (e, n) => console.log(n))'`)
      assert.doesNotMatch(names.stdout, new RegExp(one.ref.run_id))
      await server.kill()
    } finally {
      for (const sandbox of made) await sandbox.destroy()
      execFileSync('docker', ['rm', '--force', neighbour], { stdio: 'ignore' })
    }
  })
})

const userIn = async (sandbox: Sandbox): Promise<string> => (await run(sandbox, 'id -u')).stdout.trim()
const CANARY = 'canary-of-the-registry'
/** The machine may be busy. */
const LIMIT_MS = 60_000
const SERVER = 'require("net").createServer((s) => s.end("hello")).listen(7000)'
const connect = (address: string): string => `timeout 2 bash -c 'cat < /dev/tcp/${address}/7000'`
