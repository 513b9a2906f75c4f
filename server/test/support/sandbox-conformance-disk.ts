import assert from 'node:assert/strict'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { eventually, run, type Subject } from './sandbox-conformance.ts'

const MiB = 1024 ** 2

/** What a sandbox says it holds on disk: the worker ends runs by it. */
export function testDisk({ create, name }: Subject): void {
  const between = (value: number, min: number, max: number) =>
    assert(value >= min && value <= max, `${value} is not from ${min} to ${max}`)

  test('says what its files take up: holes not at all, links once, nothing outside', async () => {
    const sandbox = await create()
    const before = await sandbox.usage()
    const home = name === 'host' ? 'home' : '"$HOME"/home'
    await run(
      sandbox,
      `head -c ${5 * MiB} /dev/zero > a; ln a b; ln -s / root; truncate -s 1G sparse; mkdir ${home}; head -c ${3 * MiB} /dev/zero > ${home}/c`,
    )
    const after = await sandbox.usage()
    between(after.bytes - before.bytes, 8 * MiB, 9 * MiB)
    // A file with two names is one.
    assert.equal(after.files - before.files, 5)
    await sandbox.destroy()
  })

  // In a cluster, and beside Docker for an ordinary user, the sandbox's own `du` measures.
  const skip = name === 'kubernetes' || (name === 'docker' && process.getuid?.() !== 0)
  test('counts what its user closed to itself and what has no name any more', { skip }, async () => {
    const sandbox = await create()
    const before = await sandbox.usage()
    const handle = sandbox.exec({
      command: `mkdir shut; head -c ${4 * MiB} /dev/zero > shut/in; chmod 0 shut
exec 3<>gone 4<>gone; rm gone; head -c ${6 * MiB} /dev/zero >&3; touch ready; sleep 600`,
    })
    await eventually('the files are there', () => sandbox.stat('ready'))
    between((await sandbox.usage()).bytes - before.bytes, 10 * MiB, 11 * MiB)
    await handle.kill()
    await eventually('the file is gone', async () => {
      return (await sandbox.usage()).bytes - before.bytes < 5 * MiB
    })
    await run(sandbox, 'chmod 700 shut')
    await sandbox.destroy()
  })

  test('counts a flood of empty files and trees deeper than a path may be', async () => {
    const sandbox = await create()
    const before = await sandbox.usage()
    const deep = `perl -e 'mkdir "flood"; chdir "flood"; for (1 .. 2000) { open my $f, ">", "f$_" } for (1 .. 200) { $d = "d" x 100; mkdir $d; chdir $d }'`
    await run(sandbox, deep)
    assert.equal((await sandbox.usage()).files - before.files, 2201)
    await sandbox.destroy()
  })

  test('is cut short by a signal', async () => {
    const sandbox = await create()
    await assert.rejects(sandbox.usage(AbortSignal.abort()), { name: 'SandboxFault' })
    await sandbox.destroy()
  })

  test('streams a file of up to so many bytes, and says why not', async () => {
    const sandbox = await create()
    const bytes = Buffer.from(Array.from({ length: 3 * MiB }, (_, index) => (index * 7) % 251))
    await sandbox.writeFile('file', bytes)
    assert((await buffer(sandbox.openFile('file', { max_bytes: bytes.length }))).equals(bytes))
    await run(sandbox, 'mkfifo pipe; truncate -s 1G holes')
    for (const [path, max_bytes, code] of [
      ['file', bytes.length - 1, 'EFBIG'],
      ['holes', MiB, 'EFBIG'],
      ['none', MiB, 'ENOENT'],
      ['.', MiB, 'EISDIR'],
      ['pipe', MiB, 'EINVAL'],
    ] as const) {
      await assert.rejects(buffer(sandbox.openFile(path, { max_bytes })), { code }, path)
    }
    // A reader that leaves ends the command.
    sandbox.openFile('holes', { max_bytes: 2 ** 31 }).destroy()
    assert.equal((await run(sandbox, 'echo usable')).stdout, 'usable\n')
    await sandbox.destroy()
  })
}
