/** Archives that nobody of ours packed, unpacked into real sandboxes. */
import assert from 'node:assert/strict'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { ArchiveTooLarge } from '../src/archives/archive-check.ts'
import { openDiskBlobs } from '../src/blobs/disk.ts'
import { makeArchive } from '../src/sandbox/docker-archive.ts'
import {
  collectExec,
  DEFAULT_LIMITS,
  type Sandbox,
  type SandboxBackend,
  SandboxFault,
} from '../src/sandbox/sandbox.ts'
import { packWorkspace, UnusableArchive, unpackWorkspace } from '../src/worker/workspace-archive.ts'
import { whyNoDocker } from './support/machine.ts'
import { LONG } from './support/once.ts'
import { type BackendName, openBackend } from './support/sandbox-backends.ts'
import { temporaryDirectory } from './support/service.ts'

const MiB = 1024 ** 2
/** Reading half a terabyte of holes takes longer. */
const LIMIT = { timeout: 150_000 }
const LIMITS = { size_bytes: 10 * MiB, expanded_bytes: 20 * MiB, entries: 1_000 }
const undocked = whyNoDocker()

testOn('bubblewrap', false)
if (LONG) testOn('docker', undocked)

function testOn(name: BackendName, skip: string | false): void {
  describe(`archives of workspaces, ${name}`, { skip }, () => {
    const blobs = openDiskBlobs(temporaryDirectory('blobs'))
    const { signal } = new AbortController()
    const made: Sandbox[] = []
    let backend: SandboxBackend
    before(async () => {
      backend = await openBackend(name, {
        data_dir: temporaryDirectory('data'),
        installation_id: randomUUID(),
      })
    })
    after(async () => {
      for (const sandbox of made) await sandbox.destroy()
    })

    const create = async (): Promise<Sandbox> => {
      const spec = {
        run_id: randomUUID(),
        attempt: 1,
        limits: DEFAULT_LIMITS,
        egress: 'none',
        env: {},
      } as const
      const sandbox = await backend.create(spec)
      made.push(sandbox)
      return sandbox
    }
    const shell = async (sandbox: Sandbox, command: string): Promise<string> => {
      const { stdout, stderr } = await collectExec(sandbox.exec({ command }))
      return `${stdout}${stderr}`
    }
    const store = async (data: Buffer) => {
      const blob_key = `runs/x/snapshots/${randomUUID()}`
      await blobs.put(blob_key, data)
      const sha256 = createHash('sha256').update(data).digest('hex')
      return { blob_key, sha256, folders: ['workspace', 'home/agent'] }
    }
    const refused = async (data: Buffer, said: RegExp, more: object = {}) => {
      const sandbox = await create()
      const archive = { ...(await store(data)), ...more }
      await assert.rejects(
        unpackWorkspace(sandbox, blobs, archive, { limits: LIMITS, signal }),
        (error: Error) => error instanceof UnusableArchive && said.test(error.message),
      )
      assert.equal(await shell(sandbox, 'ls -d /workspace/../tmp/out /etc/out 2>/dev/null'), '')
    }

    test('are refused that lead elsewhere, and what stands before that harms nobody', async () => {
      const fine = { workspace: null, 'workspace/fine': 'x' }
      await refused(zstdCompressSync(makeArchive({ ...fine, 'tmp/out': 'x' })), /an entry lies elsewhere/)
      await refused(zstdCompressSync(makeArchive({ ...fine, 'workspace/../tmp/out': 'x' })), /lies elsewhere/)
      await refused(zstdCompressSync(makeArchive({ ...fine, '/etc/out': 'x' })), /lies elsewhere/)
    })

    test('are refused that grow beyond what was stored', async () => {
      const bomb = zstdCompressSync(makeArchive({ 'workspace/large': '\0'.repeat(200 * MiB) }))
      assert(bomb.length < MiB)
      await refused(bomb, /it holds more than 20 MiB/)
      const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [`workspace/${at}`, '']))
      await refused(zstdCompressSync(makeArchive(many)), /more than 1000 files/)
    })

    test('are refused that are damaged, cut off, another one, or gone', async () => {
      const data = zstdCompressSync(makeArchive({ workspace: null, 'workspace/fine': 'x'.repeat(10_000) }))
      await refused(data.subarray(0, data.length - 30), /cannot be unpacked: /)
      await refused(Buffer.from('no archive'), /cannot be unpacked: it is damaged/)
      await refused(data, /its checksum differs/, { sha256: '0'.repeat(64) })
      await refused(data, /^is not in the storage any more$/, { blob_key: 'runs/x/snapshots/none' })
    })

    test('stay of use when what unpacks them is killed, or has no room', async () => {
      const data = zstdCompressSync(
        makeArchive({ workspace: null, 'workspace/fine': randomBytes(3 * MiB).toString('hex') }),
      )
      const archive = await store(data)
      const unpack = (sandbox: Sandbox, from = blobs) =>
        unpackWorkspace(sandbox, from, archive, { limits: LIMITS, signal })
      const killed = await create()
      // The rest never comes.
      const half = new PassThrough()
      half.write(data.subarray(0, data.length / 2))
      const failed = assert.rejects(unpack(killed, { ...blobs, get: async () => half }), SandboxFault)
      await shell(killed, 'until [ -s fine ]; do sleep 0.1; done')
      await killed.killAll()
      await failed

      if (name !== 'docker') return
      const full = await create()
      assert.equal(await shell(full, 'ln -s /dev/shm small'), '')
      const large = await store(
        zstdCompressSync(makeArchive({ 'workspace/small/large': '\0'.repeat(70 * MiB) })),
      )
      const limits = { ...LIMITS, expanded_bytes: 80 * MiB }
      await assert.rejects(unpackWorkspace(full, blobs, large, { limits, signal }), SandboxFault)
    })

    test('hold what cannot be read by less, and are too large by their limits', LIMIT, async () => {
      const sandbox = await create()
      await shell(
        sandbox,
        'echo a > a; echo no > no; chmod 000 no; mkdir shut; echo in > shut/in; chmod 000 shut',
      )
      const pack = (limits: Partial<typeof LIMITS> = {}) =>
        packWorkspace(sandbox, blobs, {
          blob_key: `runs/y/snapshots/${randomUUID()}`,
          limits: { ...LIMITS, ...limits },
          signal,
        })
      const { archive, said } = await pack()
      assert.match(said, /workspace\/no: .*Permission denied/)
      const other = await create()
      await unpackWorkspace(other, blobs, archive, { limits: archive, signal })
      assert.equal(await shell(other, 'cat a; [ -e no ] || echo none'), 'a\nnone\n')

      await shell(sandbox, 'head -c 3000000 /dev/urandom > large')
      await assert.rejects(pack({ size_bytes: MiB }), ArchiveTooLarge)
      await assert.rejects(pack({ expanded_bytes: MiB }), ArchiveTooLarge)
      await assert.rejects(pack({ entries: 3 }), ArchiveTooLarge)
      await shell(sandbox, 'rm large; for n in $(seq 60); do truncate -s 8G hole$n; done')
      // Reading them would take longer than the test is given.
      await assert.rejects(pack({ expanded_bytes: 384 * 1024 * MiB }), ArchiveTooLarge)
      await shell(sandbox, 'rm hole*')
      for (const folders of [60, 400]) {
        const nest = `for (1..${folders}) { mkdir $n = "d" x 200; chdir $n or die } open F, ">leaf"`
        assert.equal(await shell(sandbox, `perl -e '${nest}'`), '')
        // No program unpacks what lies so deep.
        await assert.rejects(pack(), ArchiveTooLarge)
      }
      assert.equal((await Array.fromAsync(blobs.list('runs/y'))).length, 1, 'Nothing of them is stored.')
      assert.equal(await shell(sandbox, 'cat /proc/[0-9]*/cmdline | grep -ac -- [-]-create'), '0\n')
    })
  })
}
