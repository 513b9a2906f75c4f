import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChangedFile } from '../contract/diff.ts'
import { DiffReader, type Room, UnreadableDiff } from './diff-reader.ts'

const ROOM: Room = { file_bytes: 1000, bytes: 10_000, files: 100, characters: 1000 }
const raw = (letter: string, ...paths: string[]): string[] => [`:100644 100644 1111 2222 ${letter}`, ...paths]
const part = (name: string, text = 'text\n'): string => `diff --git a/${name} b/${name}\n+${text}`

interface Printed {
  unreadable?: boolean
  omitted?: string[]
  records: string[]
  counts: string[]
  patch: string
}

const print = ({ unreadable = false, omitted = [], records, counts, patch }: Printed): Buffer =>
  Buffer.from(
    `${[unreadable ? '1' : '0', ...omitted, '', ...records, ...counts].join('\0')}\0${records.length > 0 ? `\0${patch}` : ''}`,
  )

/** Reads it in pieces of so many bytes. */
function read(printed: Buffer, options: { prefix?: string; room?: Room; size?: number; is_whole?: boolean }) {
  const { prefix = '', room = ROOM, size = printed.length, is_whole = true } = options
  const reader = new DiffReader(prefix, { ...room })
  const kept: Buffer[] = []
  for (let at = 0; at < printed.length; at += size) kept.push(...reader.push(printed.subarray(at, at + size)))
  kept.push(...reader.end(is_whole))
  return { reader, patch: Buffer.concat(kept).toString() }
}

const namesOf = (files: ChangedFile[]) =>
  files.map(({ status, path, previous_path, omitted }) =>
    [status, previous_path, path, omitted && 'omitted'].filter(Boolean).join(' '),
  )

const WHOLE: Printed = {
  omitted: raw('A', 'large'),
  records: [...raw('M', 'a'), ...raw('R100', 'old', 'new'), ...raw('T', 'link'), ...raw('D', 'gone')],
  counts: ['2\t1\ta', '0\t0\t', 'old', 'new', '1\t1\tlink', '-\t-\tgone'],
  patch: `${part('a')}${part('new')}${part('link')}${part('link')}${part('gone')}`,
}

test('reads the same however it arrives', () => {
  for (const size of [1, 2, 3, 7, 64, 1000]) {
    const { reader, patch } = read(print(WHOLE), { size })
    assert.equal(patch, WHOLE.patch)
    assert.deepEqual(namesOf(reader.files), [
      ...['added large omitted', 'modified a', 'renamed old new', 'modified link', 'deleted gone'],
    ])
    assert.deepEqual(
      reader.files.map(({ additions, deletions, binary }) => [additions, deletions, binary]),
      [
        [0, 0, undefined],
        [2, 1, undefined],
        [0, 0, undefined],
        [1, 1, undefined],
        [0, 0, true],
      ],
    )
  }
})

test('nothing differs', () => {
  const { reader, patch } = read(Buffer.from('1\0\0'), {})
  assert.deepEqual([reader.files, reader.unreadable, patch], [[], true, ''])
})

test('puts the folder before every name', () => {
  const { reader } = read(print(WHOLE), { prefix: 'repo/' })
  assert.deepEqual(namesOf(reader.files)[2], 'renamed repo/old repo/new')
})

test('leaves out what is too large, and only that', () => {
  const large = `${'x'.repeat(2000)}\n`
  const printed = print({
    records: [...raw('M', 'a'), ...raw('M', 'b'), ...raw('T', 'c'), ...raw('M', 'd')],
    counts: ['1\t0\ta', '1\t0\tb', '2\t0\tc', '1\t0\td'],
    // A file that becomes a link is deleted and made anew: one without the other would not be what it was.
    patch: `${part('a')}${part('b', large)}${part('c')}${part('c', large)}${part('d')}`,
  })
  for (const size of [1, 100, 10_000]) {
    const { reader, patch } = read(printed, { size })
    assert.equal(patch, part('a') + part('d'))
    assert.deepEqual(namesOf(reader.files), [
      ...['modified a', 'modified b omitted', 'modified c omitted', 'modified d'],
    ])
  }
  const little = read(printed, { room: { ...ROOM, bytes: part('a').length + 3 } })
  assert.equal(little.patch, part('a'))
  assert.equal(little.reader.files.filter(({ omitted }) => omitted).length, 3)
})

test('leaves out repositories inside the repository', () => {
  const { reader, patch } = read(
    print({
      records: [':000000 160000 0000 1111 A', 'inner', ...raw('M', 'b')],
      counts: ['1\t0\tinner', '3\t0\tb'],
      patch: part('inner') + part('b'),
    }),
    {},
  )
  assert.deepEqual([patch, reader.embedded, namesOf(reader.files)], [part('b'), ['inner'], ['modified b']])
  assert.equal(reader.files[0]?.additions, 3)
})

test('keeps no half of a file when git was stopped', () => {
  const printed = print(WHOLE)
  const end = printed.indexOf('diff --git a/link')
  const { reader, patch } = read(printed.subarray(0, end + 20), { is_whole: false })
  assert.equal(patch, part('a') + part('new'))
  assert.deepEqual(namesOf(reader.files).slice(3), ['modified link omitted', 'deleted gone omitted'])
  // Not even the names have come.
  const none = read(printed.subarray(0, 45), { is_whole: false })
  assert.deepEqual([none.patch, none.reader.files.length], ['', 1])
})

test('refuses what git does not print', () => {
  assert.throws(() => read(Buffer.from(`0\0\0:${'x'.repeat(100_000)}`), {}), UnreadableDiff)
  const counts = ['x\t99999999999999999999\ta']
  const { reader } = read(print({ records: raw('M', 'a'), counts, patch: part('a') }), {})
  assert.deepEqual([reader.files[0]?.additions, reader.files[0]?.deletions], [0, 0])
})
