import assert from 'node:assert/strict'
import test from 'node:test'
import type { ChangedFile } from '@runyard/client'
import { formatStat, formatTotal } from '../src/change-stat.ts'
import { cleanText } from '../src/clean-text.ts'
import { createColors } from '../src/colors.ts'
import { widthOf } from '../src/table.ts'

const file = (path: string, additions = 0, deletions = 0, more: Partial<ChangedFile> = {}): ChangedFile => ({
  ...{ path, status: 'modified', additions, deletions },
  ...more,
})

function stat(files: ChangedFile[], columns?: number, files_changed = files.length): string[] {
  const sum = (key: 'additions' | 'deletions') => files.reduce((all, each) => all + each[key], 0)
  const counts = { files_changed, additions: sum('additions'), deletions: sum('deletions') }
  const output = { clean: cleanText, colors: createColors(false), columns: () => columns }
  return formatStat({ files, ...counts }, output).split('\n')
}

test('a line says how much of a file changed, and what became of it', () => {
  assert.deepEqual(
    stat([
      file('src/app.ts', 3, 1),
      file('new.txt', 12, 0, { status: 'added' }),
      file('old.txt', 0, 7, { status: 'deleted' }),
      file('logo.png', 0, 0, { binary: true }),
      file('src/to/b.ts', 1, 0, { status: 'renamed', previous_path: 'src/from/b.ts' }),
      file('huge.bin', 0, 0, { omitted: true }),
    ]),
    [
      ' src/app.ts             |   4 +++-',
      ' new.txt (new)          |  12 ++++++++++++',
      ' old.txt (deleted)      |   7 -------',
      ' logo.png               | Bin',
      ' src/{from => to}/b.ts  |   1 +',
      ' huge.bin               | not in the patch',
      ' 6 files changed, 16 insertions(+), 8 deletions(-)',
    ].map((line) => line.replace('  |', ' |')),
  )
})

test('renames name once what both names share', () => {
  const renamed = (previous_path: string, path: string) =>
    stat([file(path, 0, 0, { status: 'renamed', previous_path })])[0]
  assert.equal(renamed('a.txt', 'b.txt'), ' a.txt => b.txt | 0')
  assert.equal(renamed('src/a.txt', 'src/b.txt'), ' src/{a.txt => b.txt} | 0')
  assert.equal(renamed('a/x.txt', 'b/x.txt'), ' {a => b}/x.txt | 0')
  assert.equal(renamed('x.txt', 'lib/x.txt'), ' { => lib}/x.txt | 0')
})

test('bars are scaled to the terminal, keep both signs, and names give way last', () => {
  const lines = stat([file('a', 900, 1), file('b', 1, 0), file('c', 0, 0)], 40)
  assert.match(lines[0] ?? '', /^ a \| 901 \+{29,}-$/)
  assert.equal(lines[1], ' b |   1 +')
  assert.equal(lines[2], ' c |   0')
  const path = `${'deep/'.repeat(30)}the-file.ts`
  const wide = `${'漢'.repeat(60)}.txt`
  const cut = stat(
    [
      file(path, 4000, 3000),
      file(wide, 2, 2, { status: 'added' }),
      file(`${path}.bin`, 0, 0, { omitted: true }),
    ],
    60,
  )
  for (const line of cut) assert.ok(widthOf(line) <= 60, line)
  assert.match(cut[0] ?? '', /^ ….*deep\/the-file\.ts +\| 7000 \+{3}-{3}$/)
  assert.match(cut[1] ?? '', /^ …漢+\.txt \(new\) +\| +4 \+-$/)
  assert.ok(stat([file(path, 1)])[0]?.includes(path), 'in a pipe nothing is cut')
})

test('names are shown as one line and without what a terminal acts on', () => {
  const [line] = stat([file('a\nb\u001b]0;title\u0007\u202e.txt', 1)])
  assert.equal(line, ' a b.txt | 1 +')
})

test('where not all files are listed, the others are counted', () => {
  assert.deepEqual(stat([file('a', 1)], undefined, 1501).slice(1), [
    ' … and 1,500 more',
    ' 1501 files changed, 1 insertion(+)',
  ])
})

test('the last line is the one of git', () => {
  const total = (files_changed: number, additions: number, deletions: number) =>
    formatTotal({ files_changed, additions, deletions })
  assert.equal(total(1, 1, 1), '1 file changed, 1 insertion(+), 1 deletion(-)')
  assert.equal(total(2, 0, 5), '2 files changed, 5 deletions(-)')
  assert.equal(total(2, 5, 0), '2 files changed, 5 insertions(+)')
  assert.equal(total(1, 0, 0), '1 file changed, 0 insertions(+), 0 deletions(-)')
})
