/** What a command in a slot of a bubblewrap sandbox must not leave to the next one. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { DEFAULT_LIMITS, type Sandbox, type SandboxBackend } from '../src/sandbox/sandbox.ts'
import { openBackend } from './support/sandbox-backends.ts'
import { run } from './support/sandbox-conformance.ts'

const python = (lines: string) => `python3 - <<'END'\n${lines}\nEND`
/** Closed by the server first: its port stays taken for a minute. */
const SERVE = python(`import socket
server = socket.socket()
server.bind(('127.0.0.1', 5000))
server.listen(1)
client = socket.create_connection(('127.0.0.1', 5000))
connection, _ = server.accept()
connection.close()
client.recv(1)
client.close()
print('served')`)
const QUEUE = python(`import ctypes
queue = ctypes.CDLL('librt.so.1').mq_open(b'/queue', 0o302, 0o600, None)
print('taken' if queue < 0 else 'new')`)

describe('a slot of a bubblewrap sandbox', () => {
  let directory: string
  let sandbox: Sandbox
  let backend: SandboxBackend
  const say = async (command: string) => (await run(sandbox, command)).stdout
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'runyard-test-'))
    backend = await openBackend('bubblewrap', { data_dir: directory, installation_id: randomUUID() })
    sandbox = await backend.create({
      ...{ run_id: randomUUID(), attempt: 1, limits: DEFAULT_LIMITS, egress: 'none', env: {} },
    })
  })
  after(async () => {
    await sandbox.destroy()
    await rm(directory, { recursive: true })
  })

  test('runs one command after another', async () => {
    const [first, ...later] = [await say('echo $$'), await say('echo $$'), await say('echo $$')].map(Number)
    for (const pid of later) assert.ok(first !== undefined && pid > first, `${first} ${later}`)
  })

  test('does not begin at the thaw what was given up while it was frozen', async () => {
    await say('echo ready')
    await backend.freeze?.(sandbox.ref)
    const { exit } = await run(sandbox, ': > late', { signal: AbortSignal.timeout(100) })
    assert.equal(exit.aborted, true)
    await backend.thaw?.(sandbox.ref)
    for (let index = 0; index < 5; index++) assert.equal(await say('ls'), '')
  })

  test('gives each command outputs that block', async () => {
    const set = python('import os\nfor output in (1, 2): os.set_blocking(output, False)')
    assert.equal((await run(sandbox, set)).exit.code, 0)
    const { exit, stderr } = await run(sandbox, 'head -c 3000000 /dev/zero | cat', { timeout_ms: 10_000 })
    assert.deepEqual([exit.code, stderr], [0, ''])
  })

  test('keeps no port taken', async () => {
    for (let index = 0; index < 3; index++) assert.equal(await say(SERVE), 'served\n')
  })

  test('keeps no message queue', async () => {
    for (let index = 0; index < 3; index++) assert.equal(await say(QUEUE), 'new\n')
  })

  test('keeps nothing in shared memory, however it is hidden', async () => {
    for (const hide of ['touch /dev/shm/..left', 'touch /dev/shm/left; chmod 0 /dev/shm']) {
      await run(sandbox, hide)
      assert.equal(await say('ls -A /dev/shm; stat -c %a /dev/shm'), '1777\n', hide)
    }
  })

  test('keeps the text of a command out of what pkill -f looks at', async () => {
    const { exit, stdout } = await run(
      sandbox,
      'pkill -f no-such-server; env | grep -c runyard_; echo $# alive',
    )
    assert.deepEqual([exit.code, stdout], [0, '0\n0 alive\n'])
  })
})
