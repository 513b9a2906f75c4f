/** The units of `deploy/systemd` under a real systemd: process 1 of a container, since the machine of a test may have another. */
import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Runyard } from '../../client/src/index.ts'
import { createDatabase, stopTestServer, type TestDatabase } from '../../server/test/support/databases.ts'
import { removeSandboxesBeside } from '../../server/test/support/docker-images.ts'
import { findPostgres } from '../../server/test/support/postgres-server.ts'
import { TEST_IMAGE } from '../../server/test/support/sandbox-backends.ts'
import { shell } from '../../server/test/support/service.ts'
import { buildImage, buildSystemdImage, docker, SYSTEMD_IMAGE, whyNoImages } from './images.ts'
import { freePort, root, until } from './scene.ts'

const UNITS = ['runyard-serve.service', 'runyard-worker.service']
/** On a scale to 10, where 10 is no protection at all; systemd itself says "OK" below 5. */
const MAX_EXPOSURE = 2
/** Rights that systemd needs to give each unit a view of its own of the machine. */
const RIGHTS = ['--cap-add', 'SYS_ADMIN', '--cap-add', 'SYS_PTRACE', '--security-opt', 'seccomp=unconfined']
const skip = findPostgres() === null ? 'PostgreSQL is not installed' : whyNoImages()

describe('the units', { skip, timeout: 1_200_000 }, () => {
  const name = `runyard-systemd-test-${process.pid}`
  const runs: string[] = []
  let database: TestDatabase
  let client: Runyard
  let origin = ''
  before(async () => {
    await buildImage()
    buildSystemdImage()
    database = await createDatabase()
    const units = [
      '--volume',
      '/var/run/docker.sock:/run/host-docker.sock',
      '--volume',
      '/sys/fs/cgroup:/sys/fs/cgroup',
    ]
    docker([
      'run',
      '--detach',
      '--name',
      name,
      ...RIGHTS,
      '--network',
      'host',
      '--tmpfs',
      '/run',
      '--tmpfs',
      '/run/lock',
      ...units,
      SYSTEMD_IMAGE,
    ])
    const port = await freePort()
    origin = `http://127.0.0.1:${port}`
    const settings = {
      DATABASE_URL: database.url,
      RUNYARD_SECRET_KEY: 'of the test of the units, long enough',
      RUNYARD_PORT: port,
      RUNYARD_SANDBOX: 'docker',
      RUNYARD_DEFAULT_IMAGE: TEST_IMAGE,
      DOCKER_HOST: 'unix:///run/host-docker.sock',
    }
    put(
      '/etc/runyard/runyard.env',
      Object.entries(settings)
        .map(([setting, value]) => `${setting}="${value}"\n`)
        .join(''),
    )
    for (const unit of UNITS)
      docker(['cp', join(root, 'deploy/systemd', unit), `${name}:/etc/systemd/system/${unit}`])
    // The group of the socket there is that of this machine.
    inside(`groupmod --non-unique --gid ${statSync('/var/run/docker.sock').gid} docker`)
    await until('systemd has started', async () =>
      /running|degraded/.test(inside('systemctl is-system-running || true')),
    )
    inside('systemctl daemon-reload')
  })
  after(async () => {
    for (const run_id of runs) removeSandboxesBeside(run_id)
    docker(['rm', '--force', '--volumes', name])
    await database?.drop()
    await stopTestServer()
  })

  const inside = (script: string): string => docker(['exec', name, 'sh', '-c', script])
  function put(path: string, text: string): void {
    docker(
      ['exec', '-i', name, 'sh', '-c', `mkdir -p ${join(path, '..')} && cat > ${path} && chmod 600 ${path}`],
      Buffer.from(text),
    )
  }
  const property = (unit: string, what: string): string =>
    inside(`systemctl show --property ${what} --value ${unit}`).trim()
  const asRunyard =
    'set -a; . /etc/runyard/runyard.env; RUNYARD_DATA_DIR=/var/lib/runyard; exec setpriv --reuid runyard --regid runyard --init-groups runyard'

  test('are as systemd wants them, and leave little to attack', () => {
    for (const unit of UNITS) {
      assert.equal(inside(`systemd-analyze verify /etc/systemd/system/${unit} 2>&1`), '')
      const [, exposure] =
        /exposure level for \S+: ([\d.]+)/.exec(inside(`systemd-analyze security --no-pager ${unit}`)) ?? []
      assert(Number(exposure) <= MAX_EXPOSURE, `${unit}: ${exposure}`)
    }
  })

  test('start both processes, which do a run', async () => {
    inside(`${asRunyard} migrate`)
    inside(`systemctl enable --now ${UNITS.join(' ')}`)
    const { api_key } = JSON.parse(inside(`${asRunyard} keys create --name admin --role admin --json`)) as {
      api_key: string
    }
    await until(
      'it is ready',
      async () => (await fetch(`${origin}/readyz`).catch(() => null))?.status === 200,
    )
    client = new Runyard({ apiKey: api_key, baseURL: `${origin}/api/v1` })
    const run = await client.runs.createAndWait({
      prompt: shell('echo left > "$RUNYARD_ARTIFACTS_DIR/left.txt"'),
    })
    runs.push(run.run_id)
    assert(
      run.artifacts?.some(({ artifact_type }) => artifact_type === 'FILE'),
      inside('journalctl --no-pager --lines 50'),
    )
  })

  test('a restart of the worker in the middle of a run loses nothing', async () => {
    const { run_id } = await client.runs.create({ prompt: shell('sleep 15; echo whole') })
    runs.push(run_id)
    await until('it is at work', async () => (await client.runs.retrieve(run_id)).state === 'INPROGRESS')
    inside('systemctl restart runyard-worker.service')
    assert.equal((await client.runs.wait(run_id)).state, 'SUCCEEDED')
  })

  test('stop in order, and a wrong setting is not tried again', async () => {
    for (const unit of UNITS) {
      inside(`systemctl stop ${unit}`)
      assert.deepEqual([property(unit, 'Result'), property(unit, 'ExecMainStatus')], ['success', '0'], unit)
    }
    inside(
      'echo RUNYARD_SLOTS=many >> /etc/runyard/runyard.env; systemctl start runyard-worker.service || true',
    )
    await until('it has failed', async () => property('runyard-worker.service', 'ActiveState') === 'failed')
    assert.deepEqual(
      [property('runyard-worker.service', 'ExecMainStatus'), property('runyard-worker.service', 'NRestarts')],
      ['2', '0'],
    )
  })
})
