import type { ChangedFile } from '@runyard/client'
import { useState } from 'react'
import { BreakableText } from '../text/breakable-text.tsx'
import { countOf } from '../text/format.ts'
import { plainText } from '../text/plain-text.ts'
import { ScrollBox } from '../ui/scroll-box.tsx'
import type { DiffLine, Hunk } from './patch.ts'

/** Lines of one file that are shown before anybody asks for more. */
const FIRST_LINES = 400

const TONES: Record<DiffLine['kind'], string> = {
  added: 'bg-good/10',
  removed: 'bg-bad/10',
  same: '',
  note: 'text-soft',
}
const SIGNS: Record<DiffLine['kind'], string> = { added: '+', removed: '−', same: ' ', note: ' ' }

/** The changed lines of one file. `hunks`: undefined where the patch does not hold it. */
export function FileDiff({
  file,
  part: hunks,
  is_read,
}: {
  file: ChangedFile
  part: Hunk[] | undefined
  is_read: boolean
}) {
  const [shows_all, setAll] = useState(false)
  if (!is_read) return <Remark text="Reading the patch…" />
  if (file.binary) return <Remark text="A binary file. The patch holds it whole." />
  if (!hunks)
    return <Remark text={file.omitted ? 'Too large for the patch.' : 'The patch does not show it.'} />
  const total = hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0)
  if (total === 0)
    return <Remark text={file.previous_path ? 'Renamed, its text is the same.' : 'No line differs.'} />
  let left = shows_all ? total : FIRST_LINES
  const shown = hunks.flatMap((hunk) => {
    const lines = hunk.lines.slice(0, Math.max(0, left))
    left -= lines.length
    return lines.length > 0 ? [{ ...hunk, lines }] : []
  })
  return (
    <ScrollBox className="overflow-x-auto border-line border-t" label={`Changes of ${file.path}`}>
      <table className="w-full border-collapse font-mono text-xs leading-relaxed">
        <tbody>
          {shown.map((hunk) => (
            <HunkRows key={hunk.title} hunk={hunk} />
          ))}
        </tbody>
      </table>
      {total > FIRST_LINES && !shows_all ? (
        <button type="button" className="px-3.5 py-2 text-accent text-sm" onClick={() => setAll(true)}>
          Show {countOf(total - FIRST_LINES, 'more line')}
        </button>
      ) : null}
    </ScrollBox>
  )
}

const Remark = ({ text }: { text: string }) => (
  <p className="m-0 border-line border-t px-3.5 py-2.5 text-soft text-sm">{text}</p>
)

function HunkRows({ hunk }: { hunk: Hunk }) {
  return (
    <>
      <tr className="bg-sunken text-soft">
        <td colSpan={4} className="px-3.5 py-0.5">
          {hunk.title}
        </td>
      </tr>
      {hunk.lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines of a hunk stay as they are.
        <tr key={index} className={TONES[line.kind]} data-line={line.kind}>
          <LineNumber of={line.old_line} />
          <LineNumber of={line.new_line} />
          <td className="w-4 text-center text-soft select-none">{SIGNS[line.kind]}</td>
          <td className="pr-3.5 whitespace-pre-wrap wrap-anywhere">
            <BreakableText text={plainText(line.text.replaceAll('\r', '␍'))} />
          </td>
        </tr>
      ))}
    </>
  )
}

const LineNumber = ({ of }: { of: number | undefined }) => (
  <td className="tabular w-10 min-w-10 px-1.5 text-right align-top text-soft select-none max-sm:hidden">
    {of}
  </td>
)
