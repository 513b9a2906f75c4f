import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { type Blobs, BlobsFull } from '../blobs/blobs.ts'
import { openDiskBlobs } from '../blobs/disk.ts'
import { ArchiveCheck } from './archive-check.ts'
import { type IndexedFile, showPath } from './file-index.ts'
import { FileIndexWriter } from './file-index-writer.ts'
import { IndexRefused, lookUpFiles } from './look-up-files.ts'
import { openPackedFile } from './packed-file.ts'

const LIMITS = { expanded_bytes: 100 * 1024 ** 2, entries: 100_000 }
const DEEP = Array.from({ length: 60 }, () => 'deep').join('/')
const MANY = 1_203

const bytes = (text: string): string => Buffer.from(text).toString('latin1')

test('a path that is no UTF-8 is shown whole, and no two are shown alike', () => {
  const paths = [
    ...['src/café.ts', '漢字', '😀', 'a\nb', 'back\\slash', '\\xZZ', '\u202e'].map(bytes),
    ...['\xe9', 'caf\xe9', '\xe9\xa9', '\xed\xa0\x80', '\xf4\x90\x80\x80', '\xc0\xaf', 'é\xff'],
    ...['\\xE9', '\\x5CxE9', '\\\\xE9', '\\xE9\xe9', 'caf\\xE9'],
  ]
  const shown = paths.map(showPath)
  assert.equal(new Set(shown).size, paths.length)
  assert.deepEqual(shown.slice(0, 6), ['src/café.ts', '漢字', '😀', 'a\nb', 'back\\slash', '\\xZZ'])
  assert.deepEqual([showPath('caf\xe9'), showPath('caf\\xE9')], ['caf\\xE9', 'caf\\x5CxE9'])
  for (const path of shown) assert(path.isWellFormed(), JSON.stringify(path))
})

describe('files of an archive', () => {
  const place = mkdtempSync(join(tmpdir(), 'archive-'))
  const workspace = join(place, 'workspace')
  const large = randomBytes(3_000_000)
  let archive: Buffer
  let blobs: Blobs
  before(async () => {
    blobs = openDiskBlobs(join(place, 'blobs'))
    mkdirSync(join(workspace, DEEP), { recursive: true })
    mkdirSync(join(workspace, 'many'))
    mkdirSync(join(place, 'home/agent'), { recursive: true })
    writeFileSync(join(workspace, 'large.bin'), large)
    writeFileSync(join(workspace, 'run.sh'), 'echo\n', { mode: 0o755 })
    writeFileSync(join(workspace, 'empty'), '')
    writeFileSync(join(workspace, DEEP, 'end.txt'), 'the end\n')
    writeFileSync(Buffer.concat([Buffer.from(`${workspace}/`), Buffer.from('latin-\xe9', 'latin1')]), 'odd\n')
    writeFileSync(join(workspace, 'two\nlines "quoted"\u2028'), 'named\n')
    linkSync(join(workspace, 'run.sh'), join(workspace, 'same as run.sh'))
    symlinkSync('/etc/passwd', join(workspace, 'passwd'))
    linkSync(join(workspace, 'passwd'), join(workspace, 'same as passwd'))
    execFileSync('mkfifo', [join(workspace, 'pipe')])
    for (let at = 0; at < MANY; at += 1) writeFileSync(join(workspace, 'many', `${at}`), `${at}\n`)
    writeFileSync(join(place, 'home/agent/.secret'), 'home')
    archive = execFileSync(
      'tar',
      [
        '-c',
        '--format=posix',
        '--pax-option=delete=atime,delete=ctime',
        '-C',
        place,
        'workspace',
        'home/agent',
      ],
      { maxBuffer: LIMITS.expanded_bytes },
    )
    const index = new FileIndexWriter(blobs, 'runs/x/indexes/i')
    const check = new ArchiveCheck(['workspace', 'home/agent'], LIMITS, (entry) => index.add(entry))
    for (let at = 0; at < archive.length; at += 60_000) {
      check.push(archive.subarray(at, at + 60_000))
      await index.write()
    }
    await index.end()
    await blobs.put('runs/x/snapshots/s', zstdCompressSync(archive))
  })
  after(() => rmSync(place, { recursive: true }))

  const opened = async (key: string): Promise<Readable> => {
    const found = await blobs.get(key)
    assert(found)
    return found
  }
  const lookUp = (path: string, page: { after?: string; most: number } = { most: 5_000 }) =>
    lookUpFiles(() => opened('runs/x/indexes/i'), path, page)
  const read = async (file: IndexedFile): Promise<Buffer> =>
    buffer(openPackedFile(await opened('runs/x/snapshots/s'), file))
  const find = async (path: string): Promise<IndexedFile> => {
    const { itself } = await lookUp(path, { most: 0 })
    assert(itself, path)
    return itself
  }

  test('a folder is listed with what lies directly in it, by name', async () => {
    const { itself, inside, has_more } = await lookUp('')
    assert.deepEqual([itself?.type, has_more], ['folder', false])
    assert.deepEqual(
      inside.map(({ name, type, mode, size, target }) => [name, type, mode.toString(8), size, target ?? '']),
      [
        ['deep', 'folder', '755', 0, ''],
        ['empty', 'file', '644', 0, ''],
        ['large.bin', 'file', '644', large.length, ''],
        ['latin-\\xE9', 'file', '644', 4, ''],
        ['many', 'folder', '755', 0, ''],
        ['passwd', 'link', '777', 0, '/etc/passwd'],
        ['pipe', 'other', '644', 0, ''],
        ['run.sh', 'file', '755', 5, ''],
        ['same as passwd', 'link', '777', 0, '/etc/passwd'],
        ['same as run.sh', 'file', '755', 5, ''],
        ['two\nlines "quoted"\u2028', 'file', '644', 6, ''],
      ],
    )
  })

  test('each file is read as it was, whatever it is called and however deep it lies', async () => {
    assert((await read(await find('large.bin'))).equals(large))
    for (const path of [
      'run.sh',
      'empty',
      `${DEEP}/end.txt`,
      'two\nlines "quoted"\u2028',
      'many/0',
      `many/${MANY - 1}`,
    ])
      assert.equal(
        (await read(await find(path))).toString(),
        readFileSync(join(workspace, path), 'utf8'),
        path,
      )
    assert.equal((await read(await find('latin-\\xE9'))).toString(), 'odd\n')
    assert.equal((await read(await find('same as run.sh'))).toString(), 'echo\n')
  })

  test('a large folder comes in pages, each name once and in order', async () => {
    const names: string[] = []
    for (let has_more = true; has_more; ) {
      const page = await lookUp('many', { after: names.at(-1) ?? '', most: 100 })
      assert(page.inside.length <= 100)
      names.push(...page.inside.map(({ name }) => name))
      has_more = page.has_more
    }
    assert.deepEqual(names, Array.from({ length: MANY }, (_, at) => `${at}`).sort())
  })

  test('what is not below the workspace, or is only called alike, is not found', async () => {
    for (const path of [
      'man',
      'many/',
      'ma',
      'many/0/x',
      'home',
      'home/agent/.secret',
      '.secret',
      'passwd/x',
    ])
      assert.equal((await lookUp(path)).itself, null, path)
  })

  test('an index of one endless line is refused', async () => {
    await blobs.put('runs/x/indexes/endless', zstdCompressSync(Buffer.alloc(8_000_000, 'a')))
    await assert.rejects(
      lookUpFiles(() => opened('runs/x/indexes/endless'), '', { most: 1 }),
      IndexRefused,
    )
  })

  test('an archive that ends before the file does is an error, not a shorter file', async () => {
    const file = await find('large.bin')
    await assert.rejects(read({ ...file, offset: archive.length }), /ends before the file/)
  })

  test('an index that cannot be stored ends the writing, however much is still to come', async () => {
    const full: Blobs = {
      ...blobs,
      put: async (_key, data) => {
        // As a disk that is full does: after some of it.
        for await (const _ of data as Readable) break
        throw new BlobsFull('The disk is full.')
      },
    }
    const index = new FileIndexWriter(full, 'runs/x/indexes/full')
    await assert.rejects(async () => {
      for (let at = 0; at < 100_000; at += 1) {
        const path = `workspace/${randomBytes(100).toString('hex')}`
        index.add({ path, type: '0', mode: 0o644, size: 1, offset: at, target: '' })
        await index.write()
      }
    }, BlobsFull)
    await index.discard()
    assert.equal(await blobs.get('runs/x/indexes/full'), null)
  })
})
