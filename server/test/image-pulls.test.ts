/** What Docker sandboxes are made of: versions of images, and the runtime of their containers. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { chooseBackend } from '../src/sandbox/choose.ts'
import { openDocker } from '../src/sandbox/docker.ts'
import { DEFAULT_LIMITS, type SandboxBackend, type SandboxSpec } from '../src/sandbox/sandbox.ts'
import { makeImage, removeImage } from './support/docker-images.ts'
import { startImageRegistry } from './support/image-registry.ts'
import { whyNoDocker } from './support/machine.ts'
import { openBackend, TEST_IMAGE } from './support/sandbox-backends.ts'

const undocked = whyNoDocker()
const inspect = (what: string[]): string => execFileSync('docker', what, { encoding: 'utf8' }).trim()

describe('images of Docker sandboxes', { skip: undocked }, () => {
  let backend: SandboxBackend
  const spec = (image?: string): SandboxSpec => ({
    ...{ run_id: randomUUID(), attempt: 1, limits: DEFAULT_LIMITS, egress: 'none', env: {} },
    ...(image === undefined ? {} : { image, pull: true }),
  })
  before(async () => {
    backend = await openBackend('docker', { data_dir: '/nowhere', installation_id: randomUUID() })
  })
  after(async () => {
    for (const { ref } of await backend.list()) await backend.destroy(ref)
  })

  test('are told by the digest of their registry, or by their id where they came from none', async () => {
    const registry = await startImageRegistry()
    const name = `${registry.host}/acme/tool:1`
    const pinned = `${registry.host}/acme/tool@${registry.digest}`
    try {
      for (const image of [name, pinned])
        assert.equal((await backend.create(spec(image))).image_digest, registry.digest)
    } finally {
      registry.close()
    }
    // What the engine has is not asked for again.
    const again = await backend.create(spec(name))
    assert.equal(again.image_digest, registry.digest)
    await again.destroy()
    for (const { ref } of await backend.list()) await backend.destroy(ref)
    removeImage(pinned)

    const local = await backend.create(spec())
    assert.equal(local.image_digest, inspect(['image', 'inspect', '--format', '{{.Id}}', TEST_IMAGE]))
    await local.destroy()
  })

  test('of a registry that is closed are pulled with the login for it, and with no other', async () => {
    const registry = await startImageRegistry('robot:the right one')
    const image = `${registry.host}/acme/tool:1`
    const login = { host: registry.host, username: 'robot', password: 'the wrong one', name: 'IMAGES' }
    const refusal = (message: string | RegExp) => ({ name: 'SandboxImageError', message })
    try {
      await assert.rejects(backend.create(spec(image)), refusal('is not there and cannot be pulled'))
      const refused = `cannot be pulled: ${registry.host} refuses the secret IMAGES`
      await assert.rejects(backend.create({ ...spec(image), login }), refusal(refused))
      const sandbox = await backend.create({ ...spec(image), login: { ...login, password: 'the right one' } })
      assert.equal(sandbox.image_digest, registry.digest)
      await sandbox.destroy()
    } finally {
      registry.close()
      removeImage(image)
    }
  })

  test('that somebody’s login opened serve nobody whom the registry would refuse', async () => {
    const registry = await startImageRegistry('robot:the right one')
    const image = `${registry.host}/acme/tool:1`
    const login = { host: registry.host, username: 'robot', password: 'the right one', name: 'IMAGES' }
    const wrong = { ...login, password: 'the wrong one' }
    const begin = async (more: object, place = backend) =>
      place.destroy((await place.create({ ...spec(image), ...more })).ref)
    const refusal = (message: string) => ({ name: 'SandboxImageError', message })
    const unnamed = refusal('was pulled with a password, and this environment has no secret for its registry')
    const refused = refusal(`may not be used: ${registry.host} refuses the secret IMAGES`)
    const unsaid = refusal(
      'was pulled with a password, and its registry does not say now whether this environment may use it',
    )
    try {
      await begin({ login })
      await assert.rejects(begin({}), unnamed)
      await assert.rejects(begin({ login: wrong }), refused)
      await begin({ login })
      // Another worker beside the engine, or this one after a restart.
      const other = await openBackend('docker', { data_dir: '/nowhere', installation_id: randomUUID() })
      await assert.rejects(begin({}, other), unnamed)
      // One made in advance is adopted by those who may only; who goes on in a sandbox was asked when it was made.
      const warm = await other.createWarm?.(`${randomUUID()}.warm-x`, spec(image))
      await assert.rejects(warm?.adopt(spec(image)) ?? Promise.resolve(), unnamed)
      await warm?.destroy()
      const run = { ...spec(image), login }
      await backend.create(run)
      const { login: _, ...without } = run
      const again = await backend.attach({ ...without, attempt: 2 })
      await again?.destroy()
      assert(again)
      registry.close()
      await begin({ login })
      await assert.rejects(begin({ login: wrong }), unsaid)
      await assert.rejects(begin({ login }, other), unsaid)
    } finally {
      registry.close()
      removeImage(image)
    }
  })

  test('are looked at in containers that are known as ours, and that go where a worker was killed', async () => {
    const installation_id = randomUUID()
    const own = await openDocker({ installation_id, default_image: TEST_IMAGE })
    const image = makeImage('touch /new', ['LABEL traefik.enable=true'])
    try {
      const began = Date.now() / 1_000
      await own.destroy((await own.create(spec(image))).ref)
      const id = inspect(['image', 'inspect', '--format', '{{.Id}}', image])
      const only = ['--filter', `image=${id}`, '--filter', 'event=create']
      const asked = ['events', '--since', String(began), '--until', String(Date.now() / 1_000 + 1)]
      const made = inspect([...asked, ...only, '--format', '{{json .Actor.Attributes}}'])
      const labels = made.split('\n').map((line) => JSON.parse(line) as Record<string, string>)
      assert.equal(labels.length, 3)
      for (const { 'runyard.installation': installation, 'traefik.enable': order } of labels)
        assert.deepEqual([installation, order], [installation_id, ''])
      assert.deepEqual(
        labels.map((label) => label['runyard.part']).filter((part) => part !== undefined),
        ['look'],
      )
      // What a killed worker left is removed when nobody can be looking any more.
      const ours = ['--label', `runyard.installation=${installation_id}`]
      const left = inspect(['create', ...ours, '--label', 'runyard.part=look', image, 'true'])
      const known = () =>
        inspect(['ps', '-aq', '--no-trunc', '--filter', `label=runyard.installation=${installation_id}`])
      assert.equal(await own.removeLeftovers?.(), 0)
      assert.equal(known(), left)
      assert.equal(await own.removeLeftovers?.(Date.now() + 3_600_000), 1)
      assert.equal(known(), '')
    } finally {
      removeImage(image)
    }
  })

  test('run by the runtime that is asked for, or not at all', async () => {
    const options = { installation_id: randomUUID(), default_image: TEST_IMAGE }
    const missing = /the Docker engine has no runtime no-such \(RUNYARD_DOCKER_RUNTIME\), only .*runc/
    await assert.rejects(openDocker({ ...options, runtime: 'no-such' }), {
      name: 'SandboxFault',
      message: missing,
    })
    // Nothing weaker takes its place.
    const chosen = { ...options, docker_runtime: 'no-such', data_dir: '/nowhere', logger: { info() {} } }
    await assert.rejects(chooseBackend(chosen), { name: 'SandboxFault', message: missing })

    const [other = 'runc'] = inspect([
      'info',
      '--format',
      '{{range $name, $_ := .Runtimes}}{{$name}} {{end}}',
    ])
      .split(' ')
      .filter((name) => name !== inspect(['info', '--format', '{{.DefaultRuntime}}']))
    const docker = await openDocker({ ...options, runtime: other })
    assert.match(docker.description, new RegExp(`\\(runtime ${other.replaceAll('.', '\\.')}\\)`))
    const sandbox = await docker.create(spec())
    const container = `${sandbox.ref.id}.${sandbox.ref.attempt}`
    assert.equal(inspect(['inspect', '--format', '{{.HostConfig.Runtime}}', container]), other)
    await sandbox.destroy()
  })
})
