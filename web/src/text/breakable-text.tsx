/** What is written without spaces and has no place to break a line at, unlike Chinese or Japanese. */
const UNBROKEN = /[!-\u2dff\u{10000}-\u{1efff}]{1000,}/gu
/** Characters between two places where a line may be broken. */
const PIECE = /.{1,200}/gu

export const isUnbroken = (text: string): boolean => text.search(UNBROKEN) >= 0

/**
 * Text that may hold a run of a thousand characters or more without a space. Looking for where to break one takes Chromium a time
 * that grows with the square of its length, so such text gets places to break at, and a font of even widths, where they cost least.
 */
export function BreakableText({ text }: { text: string }) {
  if (!isUnbroken(text)) return text
  let end = 0
  const parts = Array.from(text.matchAll(UNBROKEN), ({ 0: run, index }) => {
    const before = text.slice(end, index)
    end = index + run.length
    return (
      <span key={index}>
        {before}
        {run.match(PIECE)?.map((piece, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: pieces have nothing else, and never move.
          <span key={place}>
            {piece}
            <wbr />
          </span>
        ))}
      </span>
    )
  })
  return (
    <span className="font-mono">
      {parts}
      {text.slice(end)}
    </span>
  )
}
