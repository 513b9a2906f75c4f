import type { ChangedFile } from '@runyard/client'
import { MessageSquarePlus } from 'lucide-react'
import { memo, useMemo, useState } from 'react'
import { BreakableText } from '../text/breakable-text.tsx'
import { countOf } from '../text/format.ts'
import { ScrollBox } from '../ui/scroll-box.tsx'
import {
  colourHunk,
  type Highlighter,
  languageOf,
  shownText,
  type Token,
  useHighlighter,
} from './code-colours.ts'
import { CommentField } from './comment-field.tsx'
import type { LineComment } from './line-comment.ts'
import { type CommentActions, type Commenting, keyOfLine, nameLine } from './line-comments.ts'
import { type DiffLine, type FilePart, firstLines, type Hunk } from './patch.ts'

/** Lines of one file that are shown before anybody asks for more. */
const FIRST_LINES = 400

const TONES: Record<DiffLine['kind'], string> = {
  added: 'bg-good/10',
  removed: 'bg-bad/10',
  same: '',
  note: 'text-soft',
}
const SIGNS: Record<DiffLine['kind'], string> = { added: '+', removed: '−', same: ' ', note: ' ' }

/** The changed lines of one file. `part`: undefined where the patch does not hold it. `commenting`: for who may write. */
export function FileDiff({
  file,
  part,
  is_read,
  commenting,
}: {
  file: ChangedFile
  part: FilePart | undefined
  is_read: boolean
  commenting: Commenting | undefined
}) {
  if (!is_read) return <Remark text="Loading the patch…" />
  if (file.binary) return <Remark text="A binary file. The patch holds it whole." />
  if (!part)
    return <Remark text={file.omitted ? 'Too large for the patch.' : 'The patch does not show it.'} />
  if (part.hunks.some(({ lines }) => lines.length > 0))
    return <Hunks path={file.path} hunks={part.hunks} commenting={commenting} />
  return (
    <Remark
      text={
        part.mode
          ? `Its mode changed: ${part.mode}. Its text is the same.`
          : file.previous_path
            ? `Renamed from ${file.previous_path}. Its text is the same.`
            : 'No line differs.'
      }
    />
  )
}

function Hunks({
  path,
  hunks,
  commenting,
}: {
  path: string
  hunks: readonly Hunk[]
  commenting: Commenting | undefined
}) {
  // Comments that were kept may be on any of them.
  const [shows_all, setAll] = useState(() =>
    [...(commenting?.comments.values() ?? [])].some((comment) => comment.path === path),
  )
  const highlighter = useHighlighter()
  const language = useMemo(() => highlighter && languageOf(path, highlighter), [path, highlighter])
  // The same objects as long as the same is shown: colours are found once for each.
  const shown = useMemo(() => (shows_all ? hunks : firstLines(hunks, FIRST_LINES)), [hunks, shows_all])
  const total = hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0)
  return (
    <ScrollBox className="overflow-x-auto border-line border-t" label={`Changes of ${path}`}>
      <table className="w-full border-collapse font-mono text-xs leading-relaxed">
        <tbody>
          {shown.map((hunk) => (
            <HunkRows
              key={hunk.start}
              hunk={hunk}
              path={path}
              language={language}
              highlighter={highlighter}
              commenting={commenting}
            />
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

function HunkRows({
  hunk,
  path,
  language,
  highlighter,
  commenting,
}: {
  hunk: Hunk
  path: string
  language: string | undefined
  highlighter: Highlighter | undefined
  commenting: Commenting | undefined
}) {
  const colours = useMemo(
    () => (highlighter && language ? colourHunk(hunk, language, highlighter) : undefined),
    [hunk, language, highlighter],
  )
  return (
    <>
      {hunk.unchanged_before > 0 ? (
        <tr className="bg-sunken text-soft">
          <td colSpan={4} className="px-3.5 py-0.5">
            {countOf(hunk.unchanged_before, 'unchanged line')}
          </td>
        </tr>
      ) : null}
      {hunk.lines.map((line, index) => (
        <LineRows
          // biome-ignore lint/suspicious/noArrayIndexKey: the lines of a hunk stay as they are.
          key={index}
          path={path}
          line={line}
          tokens={colours?.[index]}
          comment={commenting?.comments.get(keyOfLine(path, line))}
          actions={commenting?.actions}
        />
      ))}
    </>
  )
}

/** Remembered: with each letter of a comment only its own line is drawn again. */
const LineRows = memo(function LineRows({
  path,
  line,
  tokens,
  comment,
  actions,
}: {
  path: string
  line: DiffLine
  tokens: Token[] | undefined
  comment: LineComment | undefined
  actions: CommentActions | undefined
}) {
  return (
    <>
      <tr className={`group ${TONES[line.kind]}`} data-line={line.kind}>
        <LineNumber of={line.old_line} />
        <LineNumber of={line.new_line} />
        <td className="w-6 min-w-6 text-center align-top text-soft select-none">
          {actions && line.kind !== 'note' ? (
            <button
              type="button"
              aria-label={`Comment on ${nameLine(line)}`}
              className="group/comment flex h-4.5 w-full items-center justify-center"
              onClick={() => actions.open(path, line)}
            >
              <span className="group-hover:hidden group-focus-visible/comment:hidden">
                {SIGNS[line.kind]}
              </span>
              <MessageSquarePlus
                aria-hidden
                className="m-auto hidden size-3.5 text-accent group-hover:block group-focus-visible/comment:block"
              />
            </button>
          ) : (
            SIGNS[line.kind]
          )}
        </td>
        <td className="pr-3.5 whitespace-pre-wrap wrap-anywhere">
          <Code line={line} tokens={tokens} />
        </td>
      </tr>
      {actions && comment ? (
        <tr>
          <td colSpan={4} className="bg-raised px-3.5 py-2 font-sans">
            <CommentField comment={comment} actions={actions} />
          </td>
        </tr>
      ) : null}
    </>
  )
})

const Code = ({ line, tokens }: { line: DiffLine; tokens: Token[] | undefined }) =>
  tokens ? (
    tokens.map(({ text, look }, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the words of a line stay as they are.
      <span key={index} className={look || undefined}>
        <BreakableText text={text} />
      </span>
    ))
  ) : (
    <BreakableText text={shownText(line)} />
  )

const LineNumber = ({ of }: { of: number | undefined }) => (
  <td className="tabular w-10 min-w-10 px-1.5 text-right align-top text-soft select-none max-sm:hidden">
    {of}
  </td>
)
