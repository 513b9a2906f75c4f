/** What a sandbox reaches when its environment has a list of allowed hosts: those, by a proxy, and nothing else. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { EnvironmentConfig } from '../src/contract/environment.ts'
import { until } from './support/cluster.ts'
import { removeSandbox } from './support/docker-images.ts'
import { makeRepository, serveRepositories } from './support/git.ts'
import { whyNoDocker } from './support/machine.ts'
import { LONG, onceAmong } from './support/once.ts'
import { type PackageRegistry, servePackages } from './support/package-registry.ts'
import { type BackendName, TEST_IMAGE } from './support/sandbox-backends.ts'
import {
  apiOf,
  type DevProcess,
  shell,
  startDevProcess,
  startService,
  type TestService,
  temporaryDirectory,
} from './support/service.ts'
import { findProcesses, ofType, printed } from './support/traces.ts'

const undocked = whyNoDocker()
/** Containers get their way out from root. */
const is_root = process.getuid?.() === 0
const python = spawnSync('/usr/bin/python3', ['-c', 'import ensurepip, venv']).status === 0

testOn('bubblewrap', false)
testOn('docker', undocked || (!is_root && 'only root enters containers'))

/** Asks the proxy as programs do that know it; prints the status line and the body. */
const ask = (...lines: string[]) =>
  `exec 3<>/dev/tcp/127.0.0.1/3128; printf '${lines.map((line) => `${line}\\r\\n`).join('')}\\r\\n' >&3; timeout 20 cat <&3`
const get = (url: string) => ask(`GET ${url} HTTP/1.1`, 'Host: x', 'Connection: close')

function testOn(sandbox: BackendName, skip: string | false): void {
  // One gateway serves all backends; how a sandbox comes to it, and to nothing else, is each one's own.
  const once = onceAmong(sandbox)
  describe(`allowed hosts, ${sandbox}`, { skip }, () => {
    let registry: PackageRegistry
    let repositories: { url: string; close(): void }
    let service: TestService
    let api: ReturnType<typeof apiOf>
    const runs: string[] = []

    before(async () => {
      const root = temporaryDirectory('served')
      makeRepository(join(root, 'project'))
      registry = await servePackages()
      repositories = await serveRepositories(root)
      service = await startService({
        sandbox,
        env: {
          RUNYARD_PRIVATE_HOSTS: `${registry.host},${new URL(repositories.url).host}`,
          RUNYARD_EGRESS: 'open',
          RUNYARD_GRACE_SECONDS: '0',
          ...(sandbox === 'docker' ? { RUNYARD_DEFAULT_IMAGE: TEST_IMAGE } : {}),
        },
      })
      api = apiOf(service)
    })
    after(async () => {
      await service?.stop()
      registry?.close()
      repositories?.close()
      if (sandbox === 'docker') for (const run_id of runs) removeSandbox(run_id)
    })

    const begin = async (command: string, config: Partial<EnvironmentConfig> = {}): Promise<string> => {
      const body = { name: randomUUID(), allowed_hosts: [registry.host], ...config }
      const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', body)
      const run_id = await api.create({ prompt: shell(command), config: { environment_id: uid } })
      runs.push(run_id)
      return run_id
    }
    const finish = async (run_id: string) => {
      const run = await api.ended(run_id, 60)
      const events = await api.events(run_id)
      const refused = ofType(events, 'egress.refused').map(
        ({ data }) => `${data.host}:${data.port} ${data.reason}`,
      )
      return { run, output: printed(events), refused, events }
    }
    const runIn = async (command: string, config?: Partial<EnvironmentConfig>) =>
      finish(await begin(command, config))

    test('are reached, and nothing else is: the refusal says why, in the answer and in the log', async () => {
      const { run, output, refused } = await runIn(
        `${get(`${registry.url}/runyard-sample`)}; echo; ${get('http://elsewhere.example/')}`,
      )
      assert.equal(run.state, 'SUCCEEDED')
      assert.match(output, /200 OK[\s\S]*"latest":"1\.0\.0"/)
      assert.match(
        output,
        /403 Refused by the network policy: the environment does not allow the host elsewhere/,
      )
      assert.deepEqual(refused, ['elsewhere.example:80 not_listed'])
    })

    test('are all there is: no other way leads out of the sandbox', async () => {
      const [address = '', port] = registry.host.split(':')
      const asked = registry.asked.length
      const { output } = await runIn(
        `for place in ${address}/${port} 1.1.1.1/443 169.254.169.254/80 127.0.0.1/${new URL(service.base_url).port}; do
          timeout 5 bash -c "exec 3<>/dev/tcp/$place" 2>/dev/null && echo "reached $place"; done
        timeout 5 bash -c 'echo > /dev/udp/8.8.8.8/53' 2>/dev/null && echo reached udp
        tail -n +3 /proc/net/dev | cut -d: -f1; getent hosts example.com && echo resolved; echo done`,
      )
      assert.deepEqual(output.split(/\s+/).filter(Boolean), ['lo', 'done'])
      assert.equal(registry.asked.length, asked)
    })

    once('are what a redirect is judged by', async () => {
      const { output, refused } = await runIn(
        sandbox === 'docker'
          ? `${get(`${registry.url}/away`)}; ${get('http://elsewhere.example/')}`
          : `curl -sS -L ${registry.url}/away`,
      )
      assert.match(output, /does not allow the host elsewhere\.example/)
      assert.deepEqual(refused, ['elsewhere.example:80 not_listed'])
    })

    once('are those that have public addresses, unless the operator says otherwise', async () => {
      const service_port = new URL(service.base_url).port
      const { output, refused } = await runIn(
        [
          get(`http://localhost:${service_port}/api/v1/agent/runs`),
          ask(`CONNECT 127.0.0.1:${service_port} HTTP/1.1`),
          ask('CONNECT 2130706433:443 HTTP/1.1'),
          ask('CONNECT localhost:443 HTTP/1.1'),
          ask('CONNECT 169.254.169.254:80 HTTP/1.1'),
          ask('CONNECT [::ffff:127.0.0.1]:443 HTTP/1.1'),
        ].join('; echo; '),
        { allowed_hosts: ['localhost', `localhost:${service_port}`, '127.0.0.1', '169.254.169.254'] },
      )
      assert.equal(output.match(/^HTTP\/1\.1 403 /gm)?.length, 6, output)
      assert.deepEqual(refused, [
        `localhost:${service_port} not_public`,
        `127.0.0.1:${service_port} no_name`,
        '127.0.0.1:443 no_name',
        'localhost:443 not_public',
        '169.254.169.254:80 no_name',
        '::ffff:7f00:1:443 not_listed',
      ])
    })

    once('are all public ones where the network is open, and the operator’s', async () => {
      const { output, refused } = await runIn(
        [
          get(`${registry.url}/runyard-sample`),
          get(`http://localhost:${new URL(service.base_url).port}/`),
          ask('CONNECT 169.254.169.254:80 HTTP/1.1'),
        ].join('; echo; '),
        { egress: 'open', allowed_hosts: [] },
      )
      assert.match(output, /200 OK[\s\S]*"latest":"1\.0\.0"/)
      assert.equal(output.match(/^HTTP\/1\.1 403 /gm)?.length, 2, output)
      assert.deepEqual(refused, [
        `localhost:${new URL(service.base_url).port} port`,
        '169.254.169.254:80 no_name',
      ])
    })

    once('hold those of the repositories: they are cloned and fetched', async () => {
      const { run, output } = await runIn(
        'cat file; git fetch --quiet --unshallow && git rev-list --count HEAD',
        {
          repositories: [{ url: `${repositories.url}/project` }],
          variables: { GIT_SSL_NO_VERIFY: '1' },
        },
      )
      assert.equal(run.state, 'SUCCEEDED', run.status_message?.message)
      assert.equal(output, 'third\n3\n')
    })

    once('are named where a setup fails for want of them', async () => {
      const { run } = await runIn('true', {
        repositories: [{ url: 'https://10.255.255.1/project' }],
      })
      assert.deepEqual([run.state, run.status_message?.error_code], ['FAILED', 'environment_setup_failed'])
      assert.match(
        run.status_message?.message ?? '',
        /response 403\. Refused by the network policy: addresses without a name are not allowed \(10\.255\.255\.1\)\.$/,
      )
    })

    once('go on with a follow-up, and when the gateway was killed', async () => {
      const run_id = await begin(get(`${registry.url}/runyard-sample`))
      assert.match((await finish(run_id)).output, /latest/)
      const pids = findProcesses('gateway-process.').filter((pid) =>
        readFileSync(`/proc/${pid}/stat`, 'utf8').includes(` ${process.pid} `),
      )
      assert.equal(pids.length, 1)
      for (const pid of pids) process.kill(pid, 'SIGKILL')
      await until('another gateway', () => service.log().includes('The gateway ended'))
      await api.json('POST', `/agent/runs/${run_id}/followups`, {
        message: shell(`until ${get(`${registry.url}/again`)} | grep 404; do sleep 0.2; done`),
      })
      assert.match((await finish(run_id)).output, /404 Not Found/)
    })

    if (sandbox === 'bubblewrap') {
      test('let npm install', async () => {
        const { run, output } = await runIn(
          `npm install --silent --registry ${registry.url}/ runyard-sample && node -p "require('runyard-sample')"
          npm view --registry https://elsewhere.example is-number 2>&1 | grep -o 'Refused by.*example[.]'
          node -e "fetch('${registry.url}/runyard-sample').then(async (r) => console.log((await r.json()).name))"`,
        )
        assert.equal(run.state, 'SUCCEEDED', output)
        assert.equal(
          output,
          'from the registry\nRefused by the network policy: the environment does not allow the host elsewhere.example.\nrunyard-sample\n',
        )
      })

      test('let pip install', { skip: !python && 'no python3-venv' }, async () => {
        const { output } = await runIn(
          `/usr/bin/python3 -m venv v && v/bin/pip install --quiet --disable-pip-version-check --trusted-host ${registry.host.split(':')[0]} \\
            --index-url ${registry.url}/simple/ runyard-sample && v/bin/python -c 'import runyard_sample; print(runyard_sample.SAID)'`,
        )
        assert.equal(output, 'from the index\n')
      })

      test('are no business of a run without a network', async () => {
        const { output } = await runIn(`(${get(registry.url)}) >/dev/null 2>&1 || echo closed`, {
          egress: 'none',
        })
        assert.equal(output, 'closed\n')
      })
    }
  })
}

describe('the operator', () => {
  test('says how much network an environment may ask for, and leaves nothing of it behind', async () => {
    const registry = await servePackages()
    const start = (egress: string) =>
      startDevProcess({ env: { RUNYARD_EGRESS: egress, RUNYARD_PRIVATE_HOSTS: registry.host } })
    const runWith = async (service: DevProcess, config: object) => {
      const api = apiOf(service)
      const environment = { name: randomUUID(), allowed_hosts: [registry.host], ...config }
      const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', environment)
      const run_id = await api.create({
        prompt: shell(`${get(`${registry.url}/`)} || true`),
        config: { environment_id: uid },
      })
      const { state, status_message } = await api.ended(run_id)
      return `${state} ${status_message?.message ?? ''} ${printed(await api.events(run_id))}`
    }
    if (LONG) {
      const closed = await start('none')
      assert.match(await runWith(closed, { egress: 'allowlist' }), /^FAILED .*RUNYARD_EGRESS=allowlist\./)
      assert.doesNotMatch(await runWith(closed, {}), /404/)
      await closed.stop()
    }

    const listed = await start('allowlist')
    assert.match(
      await runWith(listed, { egress: 'open' }),
      /^FAILED The environment needs the network; .*RUNYARD_EGRESS=open\./,
    )
    assert.match(await runWith(listed, {}), /404 Not Found/)
    const [gateway = 0] = findProcesses('gateway-process.').filter((pid) =>
      readFileSync(`/proc/${pid}/stat`, 'utf8').includes(` ${listed.pid} `),
    )
    const words = readFileSync(`/proc/${gateway}/cmdline`, 'utf8').split('\0')
    const { directory } = JSON.parse(words.at(-2) ?? '{}') as { directory: string }
    assert.equal(existsSync(directory), true)
    if (is_root) assert.match(readFileSync(`/proc/${gateway}/status`, 'utf8'), /^Uid:\t1610612735\t/m)
    // As a killed service leaves it.
    await listed.kill('SIGKILL')
    await until('the end of the gateway', () => !existsSync(`/proc/${gateway}`) && !existsSync(directory))
    registry.close()
  })
})
