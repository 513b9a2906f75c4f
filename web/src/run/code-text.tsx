import { useMemo, useState } from 'react'
import { BreakableText } from '../text/breakable-text.tsx'
import { countOf } from '../text/format.ts'
import { ScrollBox } from '../ui/scroll-box.tsx'
import { colourHunk, languageOf, shownText, useHighlighter } from './code-colours.ts'
import type { DiffLine } from './patch.ts'

/** Lines that are shown before anybody asks for more. */
const FIRST_LINES = 1_000

/** A text file with the numbers of its lines, in the colours of its language. */
export function CodeText({ text, name, label }: { text: string; name: string; label: string }) {
  const [shows_all, setAll] = useState(false)
  const highlighter = useHighlighter()
  const lines = useMemo(
    () =>
      text
        .replace(/\n$/, '')
        .split('\n')
        .map((line): DiffLine => ({ kind: 'same', text: line.replace(/\r$/, '') })),
    [text],
  )
  const shown = useMemo(() => (shows_all ? lines : lines.slice(0, FIRST_LINES)), [lines, shows_all])
  const colours = useMemo(() => {
    const language = highlighter && languageOf(name, highlighter)
    return language ? colourHunk({ lines: shown }, language, highlighter) : undefined
  }, [shown, name, highlighter])
  return (
    <ScrollBox
      className="max-h-[75vh] overflow-auto rounded-lg border border-line bg-raised py-2"
      label={label}
    >
      <table className="w-full border-collapse font-mono text-xs leading-relaxed">
        <tbody>
          {shown.map((line, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the lines of a file stay as they are.
            <tr key={index}>
              <td className="tabular w-12 min-w-12 px-2 text-right align-top text-soft select-none max-sm:w-9 max-sm:min-w-9">
                {index + 1}
              </td>
              <td className="pr-3.5 whitespace-pre-wrap wrap-anywhere">
                {colours?.[index]?.map(({ text: word, look }, place) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: the words of a line stay as they are.
                  <span key={place} className={look || undefined}>
                    <BreakableText text={word} />
                  </span>
                )) ?? <BreakableText text={shownText(line)} />}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {shown.length < lines.length ? (
        <button type="button" className="px-3.5 py-2 text-accent text-sm" onClick={() => setAll(true)}>
          Show {countOf(lines.length - shown.length, 'more line')}
        </button>
      ) : null}
    </ScrollBox>
  )
}
