/** The image of docs/install.md, built and run here. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createDatabase, stopTestServer, type TestDatabase } from '../../server/test/support/databases.ts'
import { findPostgres } from '../../server/test/support/postgres-server.ts'
import { readVersion } from '../named-versions.ts'
import { buildImage, docker, IMAGE, whyNoImages } from './images.ts'
import { freePort, root, until } from './scene.ts'

const MiB = 1024 ** 2
/** Half of it is Node, a third is git and its Perl. */
const MAX_MB = 420
const skip = findPostgres() === null ? 'PostgreSQL is not installed' : whyNoImages()

describe('the image', { skip, timeout: 1_200_000 }, () => {
  const name = `runyard-image-test-${process.pid}`
  let database: TestDatabase
  before(async () => {
    await buildImage()
    database = await createDatabase()
  })
  after(async () => {
    docker(['rm', '--force', '--volumes', name])
    await database?.drop()
    await stopTestServer()
  })

  const ordinary = [
    '--read-only',
    '--tmpfs',
    '/tmp',
    '--cap-drop',
    'ALL',
    '--security-opt',
    'no-new-privileges',
  ]
  const run = (...args: string[]): string => docker(['run', '--rm', ...ordinary, ...args])

  test('is small, and has what the processes and their sandboxes start, for an ordinary user', () => {
    const [size, architecture, user] = docker([
      ...['image', 'inspect', '--format', '{{.Size}} {{.Architecture}} {{.Config.User}}', IMAGE],
    ]).split(/\s/)
    assert(Number(size) / MiB < MAX_MB, `${Math.round(Number(size) / MiB)} MiB`)
    assert.deepEqual([architecture, user], [process.arch === 'arm64' ? 'arm64' : 'amd64', '10001:10001'])
    assert.match(run(IMAGE, '--version'), new RegExp(`^${readVersion(root).replaceAll('.', '\\.')}`))
    const script =
      'id -u && id -g && node --version && git --version && bwrap --version && which slirp4netns socat setpriv'
    const printed = run('--entrypoint', 'sh', IMAGE, '-c', script)
    assert.match(
      printed,
      /^10001\n10001\nv24\.[\s\S]*git version[\s\S]*bubblewrap[\s\S]*slirp4netns\n.*socat\n.*setpriv\n$/,
    )
  })

  test('a wrong setting ends it with code 2 and one line', () => {
    const settings = ['--env', 'DATABASE_URL=postgres://localhost/none', '--env', 'RUNYARD_SLOTS=many']
    assert.throws(
      () => run(...settings, IMAGE, 'worker'),
      (error: { status: number; stderr: string }) => {
        assert.deepEqual([error.status, error.stderr.trim().split('\n').length], [2, 1], error.stderr)
        return /RUNYARD_SLOTS/.test(error.stderr)
      },
    )
  })

  test('serves on a read-only root without capabilities, is found healthy, and stops in order', async () => {
    const port = await freePort()
    const settings = Object.entries({
      DATABASE_URL: database.url,
      RUNYARD_PORT: String(port),
      RUNYARD_SECRET_KEY: 'of the test of the image, long enough',
    }).flatMap(([setting, value]) => ['--env', `${setting}=${value}`])
    assert.match(
      run('--network', 'host', ...settings, IMAGE, 'migrate'),
      /^The database is up to date|^Applied /,
    )
    docker(['run', '--detach', '--name', name, '--network', 'host', ...ordinary, ...settings, IMAGE])
    const inspect = (format: string): string => docker(['inspect', '--format', format, name]).trim()
    await until('it is healthy', async () => inspect('{{.State.Health.Status}}') === 'healthy')
    const origin = `http://127.0.0.1:${port}`
    const ready = await fetch(`${origin}/readyz`)
    assert.equal(ready.status, 200, await ready.text())
    assert.match(await (await fetch(origin)).text(), /<!doctype html>/i)
    const key = docker([
      'exec',
      name,
      'runyard',
      'keys',
      'create',
      '--name',
      'admin',
      '--role',
      'admin',
      '--json',
    ])
    const { api_key } = JSON.parse(key) as { api_key: string }
    const answer = await fetch(`${origin}/api/v1/agent/runs`, {
      headers: { authorization: `Bearer ${api_key}` },
    })
    assert.equal(answer.status, 200)
    docker(['stop', '--time', '30', name])
    // Killed at the end of the time it would be 137.
    assert.equal(inspect('{{.State.ExitCode}}'), '0', docker(['logs', name]))
  })
})
