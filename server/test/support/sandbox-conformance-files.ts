import assert from 'node:assert/strict'
import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { run, type Subject } from './sandbox-conformance.ts'

export function testFiles(subject: Subject): void {
  const { create } = subject

  test('writes, reads, lists, stats and deletes files', async () => {
    const sandbox = await create()
    const bytes = Buffer.from([0, 255, 10, 13, 0])
    await sandbox.writeFile("deep/er/it's\na name", bytes)
    assert.deepEqual(await sandbox.readFile("/workspace/deep/er/it's\na name"), bytes)
    await sandbox.writeFile('tool.sh', 'echo hi', { mode: 0o755 })
    assert.equal((await run(sandbox, './tool.sh')).stdout, 'hi\n')
    await sandbox.writeFile('tool.sh', 'echo ho')
    assert.equal((await run(sandbox, './tool.sh')).stdout, 'ho\n', 'replaced, its mode kept')
    await run(sandbox, 'ln -s tool.sh link; mkfifo fifo; touch .hidden; touch -d @1700000000 old')
    assert.deepEqual(await sandbox.listDirectory('/workspace'), [
      { name: '.hidden', type: 'file' },
      { name: 'deep', type: 'directory' },
      { name: 'fifo', type: 'other' },
      { name: 'link', type: 'symlink' },
      { name: 'old', type: 'file' },
      { name: 'tool.sh', type: 'file' },
    ])
    assert.deepEqual(await sandbox.stat('old'), { type: 'file', size: 0, modified_at: 1_700_000_000_000 })
    assert.equal((await sandbox.stat('link'))?.type, 'symlink')
    assert.equal(await sandbox.stat('nothing'), null)
    await sandbox.deleteFile('link')
    assert.equal(await sandbox.stat('link'), null)
    assert.equal((await sandbox.stat('tool.sh'))?.size, 7)
    await sandbox.destroy()
  })

  test('a new workspace has the folders asked for, its user’s own', async () => {
    const sandbox = await create({ folders: ['one', 'two'] })
    const { stdout } = await run(sandbox, 'ls; touch one/file two/file && ls one two/file')
    assert.equal(stdout, 'one\ntwo\ntwo/file\n\none:\nfile\n')
    await sandbox.destroy()
  })

  test('tells an empty folder from one that holds something, leads elsewhere or is none', async () => {
    const sandbox = await create({ folders: ['empty', 'full'] })
    await run(sandbox, 'mkdir full/folder; mkdir target; ln -s target link; touch file')
    const { isEmpty } = sandbox
    // Engines and clusters have no look from outside.
    assert.equal(isEmpty === undefined, ['docker', 'kubernetes'].includes(subject.name))
    for (const [folder, empty] of [
      ['empty', true],
      ['missing', true],
      ['full', false],
      ['link', false],
      ['file', false],
    ] as const) {
      if (isEmpty) assert.equal(await isEmpty(folder), empty, folder)
    }
    await sandbox.destroy()
  })

  test('names what is wrong with a path', async () => {
    const sandbox = await create()
    await sandbox.writeFile('big', Buffer.alloc(2000))
    await run(sandbox, 'mkdir directory; mkfifo fifo; ln -s loop loop; touch closed; chmod 0 closed')
    const cases: Array<[string, () => Promise<unknown>]> = [
      ['ENOENT', () => sandbox.readFile('missing')],
      ['EISDIR', () => sandbox.readFile('directory')],
      ['EINVAL', () => sandbox.readFile('fifo')],
      ['EFBIG', () => sandbox.readFile('big', { max_bytes: 1999 })],
      ['EISDIR', () => sandbox.writeFile('directory', '')],
      ['ENOTDIR', () => sandbox.listDirectory('big')],
      ['ENOENT', () => sandbox.listDirectory('missing')],
      ['ENOENT', () => sandbox.deleteFile('missing')],
      ['EISDIR', () => sandbox.deleteFile('directory')],
      ['EINVAL', () => sandbox.readFile('nul\0byte')],
    ]
    // Root on the host reads everything.
    if (subject.name !== 'host') cases.push(['EACCES', () => sandbox.readFile('closed')])
    for (const [code, call] of cases) await assert.rejects(call(), { name: 'SandboxFileError', code })
    assert.equal((await sandbox.readFile('big', { max_bytes: 2000 })).length, 2000)
    await sandbox.destroy()
  })

  test('moves a tree by tar with its links and modes', async () => {
    const [from, to] = [await create(), await create()]
    await run(
      from,
      'mkdir -p a/b; echo x > a/b/run; chmod 750 a/b/run; chmod 600 a; chmod 700 a; ln -s b/run a/link; ln -s /etc/passwd out; ln a/b/run hard',
    )
    await to.importTar(from.exportTar())
    const list = `find . -printf '%P %y %m %l %n\\n' | grep -v '^ ' | sort`
    assert.equal((await run(to, list)).stdout, (await run(from, list)).stdout)
    assert.match((await run(to, list)).stdout, /^a\/b\/run f 750 {2}2$/m)
    // Part of a tree, below a directory that is not there yet.
    await to.importTar(from.exportTar('/workspace/a'), '/workspace/copy/of')
    assert.equal((await to.readFile('copy/of/b/run')).toString(), 'x\n')
    await Promise.all([from.destroy(), to.destroy()])
  })

  test('refuses broken archives and sources, and exports of nothing', async () => {
    const sandbox = await create()
    await assert.rejects(sandbox.importTar(Readable.from([Buffer.alloc(4096, 'garbage')])), {
      name: 'SandboxFileError',
    })
    const broken = new PassThrough()
    broken.write(Buffer.alloc(100))
    const importing = sandbox.importTar(broken)
    broken.destroy(new Error('the disk of the snapshots is gone'))
    await assert.rejects(importing, /snapshots is gone/)
    await assert.rejects(buffer(sandbox.exportTar('/workspace/missing')), { code: 'ENOTDIR' })
    // A reader who leaves ends the export.
    const leaving = sandbox.exportTar('/usr')
    for await (const _ of leaving) break
    assert.equal(leaving.destroyed, true)
    await sandbox.destroy()
  })

  test('stops an archive that unpacks to more than the workspace may hold', async () => {
    const sandbox = await create({ limits: { ...subject.spec().limits, disk_bytes: 1024 ** 2 } })
    const archive = await create()
    await run(archive, 'head -c 3000000 /dev/zero > big')
    await assert.rejects(sandbox.importTar(archive.exportTar()), { code: 'EFBIG' })
    await Promise.all([sandbox.destroy(), archive.destroy()])
  })
}
