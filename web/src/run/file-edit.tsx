import { diffLines } from 'diff'
import { BreakableText } from '../text/breakable-text.tsx'
import { plainText } from '../text/plain-text.ts'
import type { DiffLine } from './patch.ts'

/** Beyond so many lines that differ, all of the old is shown as removed: finding fewer takes too long. */
const MOST_STEPS = 1_000

export interface FileEdit {
  lines: readonly Pick<DiffLine, 'kind' | 'text'>[]
  additions: number
  deletions: number
}

/** What a call of a file tool changes, as its input says it; undefined of other calls. */
export function readEdit({
  path,
  content,
  old_text,
  new_text,
  edits,
  ...rest
}: Record<string, unknown>): FileEdit | undefined {
  if (typeof path !== 'string') return undefined
  if (typeof content === 'string' && Object.keys(rest).length === 0) return compare([['', content]])
  const replacements = Array.isArray(edits) ? edits : [{ old_text, new_text }]
  const pairs = replacements.flatMap((edit: unknown) => {
    if (typeof edit !== 'object' || edit === null || !('old_text' in edit) || !('new_text' in edit)) return []
    const { old_text, new_text } = edit
    return typeof old_text === 'string' && typeof new_text === 'string' ? [[old_text, new_text] as const] : []
  })
  return pairs.length === replacements.length ? compare(pairs) : undefined
}

function compare(pairs: readonly (readonly [before: string, after: string])[]): FileEdit {
  const lines = pairs.flatMap(([before, after]) => {
    const [old_text, new_text] = [endLine(before), endLine(after)]
    const parts = diffLines(old_text, new_text, { maxEditLength: MOST_STEPS }) ?? [
      { removed: true, added: false, value: old_text },
      { removed: false, added: true, value: new_text },
    ]
    return parts.flatMap(({ added, removed, value }) =>
      linesOf(value).map((text) => ({ kind: added ? 'added' : removed ? 'removed' : 'same', text }) as const),
    )
  })
  const count = (wanted: DiffLine['kind']) => lines.filter(({ kind }) => kind === wanted).length
  return { lines, additions: count('added'), deletions: count('removed') }
}

const endLine = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`)
const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))

const TONES = { added: 'bg-good/10', removed: 'bg-bad/10', same: '', note: '' } as const
const SIGNS = { added: '+ ', removed: '− ', same: '  ', note: '  ' } as const

export const EditLines = ({ lines }: Pick<FileEdit, 'lines'>) =>
  lines.map(({ kind, text }, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: what a call says does not change.
    <div key={index} className={`-mx-1 px-1 ${TONES[kind]}`} data-line={kind}>
      <span className="text-soft select-none">{SIGNS[kind]}</span>
      <BreakableText text={plainText(text)} />
    </div>
  ))
