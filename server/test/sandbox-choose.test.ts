import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { bubblewrapSetup, chooseBackend, createFormerBackends } from '../src/sandbox/choose.ts'

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
