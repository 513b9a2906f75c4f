import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { readClusterAccess } from './kubernetes-access.ts'

const directory = mkdtempSync(join(tmpdir(), 'runyard-kubeconfig-'))
after(() => rmSync(directory, { recursive: true }))

const write = (user: object, cluster: object = {}): string => {
  const file = join(directory, 'config')
  writeFileSync(
    file,
    JSON.stringify({
      'current-context': 'here',
      contexts: [{ name: 'here', context: { cluster: 'one', user: 'me', namespace: 'sandboxes' } }],
      clusters: [{ name: 'one', cluster: { server: 'https://10.0.0.1:6443', ...cluster } }],
      users: [{ name: 'me', user }],
    }),
  )
  return file
}

test('a kubeconfig’s current context says where, as whom and in which namespace', async () => {
  const ca = Buffer.from('authority').toString('base64')
  const access = await readClusterAccess(write({ token: 'secret' }, { 'certificate-authority-data': ca }))
  assert.equal(access.server.href, 'https://10.0.0.1:6443/')
  assert.equal(access.namespace, 'sandboxes')
  assert.equal(access.tls.ca, 'authority')
  assert.deepEqual(await access.authorize(), { authorization: 'Bearer secret' })
})

test('a cluster has one name whatever address it is reached at', async () => {
  const ca = Buffer.from('authority').toString('base64')
  const [one, other] = [
    await readClusterAccess(write({}, { 'certificate-authority-data': ca })),
    await readClusterAccess(
      write({}, { 'certificate-authority-data': ca, server: 'https://kubernetes.default.svc' }),
    ),
  ]
  assert.equal(one.cluster, other.cluster)
  assert.notEqual(one.cluster, (await readClusterAccess(write({}))).cluster)
})

test('certificates and token files lie beside the kubeconfig', async () => {
  writeFileSync(join(directory, 'client.crt'), 'certificate')
  writeFileSync(join(directory, 'client.key'), 'key')
  writeFileSync(join(directory, 'token'), 'from a file\n')
  const user = { 'client-certificate': 'client.crt', 'client-key': 'client.key', tokenFile: 'token' }
  const access = await readClusterAccess(write(user))
  assert.deepEqual([access.tls.cert, access.tls.key], ['certificate', 'key'])
  assert.deepEqual(await access.authorize(), { authorization: 'Bearer from a file' })
})

test('a program for tokens is asked once until its token expires', async () => {
  const program = join(directory, 'token-program')
  const calls = join(directory, 'calls')
  writeFileSync(
    program,
    `#!/bin/sh\necho call >> "${calls}"\necho '{"status": {"token": "'"$(wc -l < "${calls}" | tr -d ' ')$MORE$1"'", "expirationTimestamp": "2999-01-01T00:00:00Z"}}'\n`,
  )
  chmodSync(program, 0o755)
  const exec = { command: './token-program', args: ['-arg'], env: [{ name: 'MORE', value: '-env' }] }
  const access = await readClusterAccess(write({ exec }))
  assert.deepEqual(await access.authorize(), { authorization: 'Bearer 1-env-arg' })
  assert.deepEqual(await access.authorize(), { authorization: 'Bearer 1-env-arg' })
  const missing = await readClusterAccess(write({ exec: { command: './none' } }))
  await assert.rejects(missing.authorize(), { name: 'SandboxFault', message: /\.\/none gave no token/ })
})

test('what is missing is said by its name', async () => {
  await assert.rejects(readClusterAccess(join(directory, 'none')), {
    name: 'SandboxFault',
    message: /none cannot be read \(ENOENT\)\. Set RUNYARD_KUBECONFIG/,
  })
  const broken = join(directory, 'broken')
  writeFileSync(broken, 'contexts: []\n')
  await assert.rejects(readClusterAccess(broken), { message: /is not complete: .*current-context/s })
  writeFileSync(broken, 'a: [')
  await assert.rejects(readClusterAccess(broken), { message: /is not YAML/ })
})
