import type { ChangedFile } from '@runyard/client'
import { oneLine } from './one-line.ts'
import type { Output } from './output.ts'
import type { ChangeCounts } from './run-text.ts'
import { truncate, truncateStart, widthOf } from './table.ts'

/** Columns of all `+` and `-` of a line where nothing limits them, as git has it. */
const LONGEST_BAR = 40
const SHORTEST_BAR = 6
const OMITTED = 'not in the patch'
const MARKS: Partial<Record<string, string>> = { added: ' (new)', deleted: ' (deleted)' }

/** What changed; `files` may be the first of more. */
export type StatOf = ChangeCounts & { files: readonly ChangedFile[] }

/** Like `git diff --stat`: a line for each file, and one for all. No line is wider than the terminal. */
export function formatStat(
  { files, ...counts }: StatOf,
  output: Pick<Output, 'clean' | 'colors' | 'columns'>,
): string {
  const { colors } = output
  const columns = output.columns()
  const totals = files.map(({ additions, deletions }) => additions + deletions)
  const most = totals.reduce((a, b) => Math.max(a, b), 0)
  const digits = Math.max(String(most).length, ...(files.some(({ binary }) => binary) ? [3] : []))
  const frame = ' '.length + ' | '.length + digits + ' '.length
  const bar_now = Math.min(most, LONGEST_BAR)
  const names = files.map((file) => nameOf(file, output))
  const widest = names.reduce((width, { name, mark }) => Math.max(width, widthOf(name + mark)), 0)
  // A bar gives way before a name does.
  const bar =
    columns === undefined
      ? bar_now
      : Math.max(Math.min(bar_now, SHORTEST_BAR), Math.min(bar_now, columns - frame - widest))
  const right = Math.max(digits + ' '.length + bar, files.some(({ omitted }) => omitted) ? OMITTED.length : 0)
  const for_name = columns === undefined ? widest : Math.min(widest, Math.max(12, columns - 4 - right))

  const lines = files.map((file, at) => {
    const { name, mark } = names[at] ?? { name: '', mark: '' }
    const shown = truncateStart(name, for_name - mark.length) + mark
    const padded = shown + ' '.repeat(Math.max(0, for_name - widthOf(shown)))
    if (file.omitted) {
      const room = columns === undefined ? OMITTED.length : columns - for_name - 4
      return ` ${padded} | ${colors.yellow(truncate(OMITTED, room))}`
    }
    if (file.binary) return ` ${padded} | ${'Bin'.padStart(digits)}`
    const [plus, minus] = scale(file, most, bar)
    const count = String(totals[at]).padStart(digits)
    return ` ${padded} | ${count} ${colors.green('+'.repeat(plus))}${colors.red('-'.repeat(minus))}`.trimEnd()
  })
  const more = counts.files_changed - files.length
  if (more > 0) lines.push(colors.dim(` … and ${more.toLocaleString('en')} more`))
  return [...lines, ` ${formatTotal(counts)}`].join('\n')
}

/** `3 files changed, 10 insertions(+), 2 deletions(-)` */
export function formatTotal({ files_changed, additions, deletions }: ChangeCounts): string {
  const some = (count: number, what: string, sign = ''): string =>
    `${count} ${what}${count === 1 ? '' : 's'}${sign}`
  return [
    `${some(files_changed, 'file')} changed`,
    ...(additions > 0 || deletions === 0 ? [some(additions, 'insertion', '(+)')] : []),
    ...(deletions > 0 || additions === 0 ? [some(deletions, 'deletion', '(-)')] : []),
  ].join(', ')
}

/** Signs of both kinds in proportion, at least one of a kind that there is. */
function scale({ additions, deletions }: ChangedFile, most: number, width: number): [number, number] {
  if (most <= width) return [additions, deletions]
  const total = additions + deletions
  const both = additions > 0 && deletions > 0
  const signs = total === 0 ? 0 : Math.max(both ? 2 : 1, Math.round((total * width) / most))
  if (!both) return additions > 0 ? [signs, 0] : [0, signs]
  const plus = Math.min(signs - 1, Math.max(1, Math.round((additions * signs) / total)))
  return [plus, signs - plus]
}

/** As it will be shown, since it is measured. */
function nameOf(
  { path, previous_path, status }: ChangedFile,
  { clean }: Pick<Output, 'clean'>,
): { name: string; mark: string } {
  if (previous_path === undefined) return { name: oneLine(clean(path)), mark: MARKS[status] ?? '' }
  return { name: oneLine(clean(formatRename(previous_path, path))), mark: '' }
}

/** `src/{old.ts => new.ts}`: folders that both names begin or end with stand once, as in git. */
function formatRename(from: string, to: string): string {
  const before = from.split('/')
  const after = to.split('/')
  const shorter = Math.min(before.length, after.length)
  let head = 0
  while (head < shorter - 1 && before[head] === after[head]) head += 1
  let tail = 0
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1
  if (head === 0 && tail === 0) return `${from} => ${to}`
  const middle = (parts: string[]): string => parts.slice(head, parts.length - tail).join('/')
  return [
    ...before.slice(0, head),
    `{${middle(before)} => ${middle(after)}}`,
    ...before.slice(before.length - tail),
  ].join('/')
}
