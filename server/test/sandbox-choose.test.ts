import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { bubblewrapSetup, chooseBackend, createFormerBackends } from '../src/sandbox/choose.ts'
import { keepLastBackend } from '../src/sandbox/fallback.ts'

const data_dir = mkdtempSync(join(tmpdir(), 'runyard-choose-'))
const options = { data_dir, installation_id: 'choose', logger: { info: () => {} } }

const docker_host = process.env.DOCKER_HOST
before(() => {
  // No engine listens there, whatever this machine has otherwise.
  process.env.DOCKER_HOST = `unix://${data_dir}/no-docker.sock`
})
after(() => {
  if (docker_host === undefined) delete process.env.DOCKER_HOST
  else process.env.DOCKER_HOST = docker_host
  rmSync(data_dir, { recursive: true })
})

test('without a Docker engine it takes bubblewrap and says why', async () => {
  const { backend, reason } = await chooseBackend(options)
  assert.equal(backend.name, 'bubblewrap')
  assert.match(reason, /^not Docker: no Docker engine answers/)
})

test('what was requested is taken or refused, never replaced', async () => {
  assert.equal((await chooseBackend({ ...options, requested: 'host' })).backend.name, 'host')
  assert.equal((await chooseBackend({ ...options, requested: 'bubblewrap' })).reason, 'requested')
  await assert.rejects(chooseBackend({ ...options, requested: 'docker' }), {
    name: 'SandboxFault',
    message: /no Docker engine answers/,
  })
})

test('an earlier backend that could not be reached at first is found later, and opened once', async () => {
  const { backend } = await chooseBackend({ ...options, requested: 'bubblewrap' })
  let now = 0
  const own = { ...options, data_dir: mkdtempSync(join(data_dir, 'former-')) }
  const readFormer = createFormerBackends(backend, own, () => now)
  assert.deepEqual(await readFormer(), [])
  mkdirSync(join(own.data_dir, 'sandboxes/host'), { recursive: true })
  now += 10 * 60_000
  const [found, ...more] = await readFormer()
  assert.deepEqual([found?.name, more], ['host', []])
  now += 10 * 60_000
  const [again] = await readFormer()
  assert.equal(again, found)
})

test('bubblewrap does not take the place of a Docker that is there, was used, or is asked for', async () => {
  const refused = (also: object, why: RegExp) =>
    assert.rejects(chooseBackend({ ...options, ...also }), (error: Error) => {
      assert.equal(error.name, 'SandboxFault')
      assert.match(
        error.message,
        /^Docker does not work: no Docker engine answers.*RUNYARD_SANDBOX=bubblewrap/,
      )
      assert.match(error.message, why)
      return true
    })
  const allow_fallback = true
  await refused({ is_shared: true }, /since this machine has Docker/)
  await refused({ default_image: 'acme/site:1' }, /since RUNYARD_DEFAULT_IMAGE asks for Docker/)
  const before = join(data_dir, 'docker-before')
  keepLastBackend(before, 'docker')
  await refused({ data_dir: before }, /since runs had Docker until now/)
  const asked = { is_shared: true, default_image: 'acme/site:1', allow_fallback }
  const { backend, reason } = await chooseBackend({ ...options, ...asked, data_dir: before })
  assert.deepEqual([backend.name, /^not Docker: /.test(reason)], ['bubblewrap', true])
  // From then on it is what runs have.
  assert.equal((await chooseBackend({ ...options, data_dir: before })).backend.name, 'bubblewrap')
})

test('with neither it names both reasons and the line to install one', async () => {
  const old = join(data_dir, 'bwrap')
  writeFileSync(old, '#!/bin/sh\necho bubblewrap 0.4.0\n')
  chmodSync(old, 0o755)
  const path = process.env.PATH
  process.env.PATH = `${data_dir}:${path}`
  try {
    await assert.rejects(chooseBackend(options), (error: Error) => {
      assert.equal(error.name, 'SandboxFault')
      assert.match(error.message, /bubblewrap 0\.4\.0 is too old/)
      assert.match(error.message, /no Docker engine answers/)
      assert.match(error.message, /apt-get install -y bubblewrap socat/)
      return true
    })
  } finally {
    process.env.PATH = path
  }
})

test('where the kernel keeps ordinary users from namespaces, the line changes that, too', () => {
  writeFileSync(join(data_dir, 'apparmor_restrict_unprivileged_userns'), '1\n')
  assert.equal(
    bubblewrapSetup(false, data_dir),
    'On Debian and Ubuntu, as root: apt-get install -y bubblewrap socat && sysctl -w kernel.apparmor_restrict_unprivileged_userns=0',
  )
  assert.equal(
    bubblewrapSetup(true, data_dir),
    'On Debian and Ubuntu, as root: apt-get install -y bubblewrap socat',
  )
})
