import { memo, type ReactNode, useLayoutEffect, useRef, useState } from 'react'
import { BreakableText } from '../text/breakable-text.tsx'
import { formatBytes } from '../text/format.ts'
import type { Block, TerminalText } from '../text/terminal-text.ts'
import { ScrollText } from '../ui/scroll-box.tsx'

/**
 * What a command printed. It stays at its end while it grows, unless the reader has scrolled up. `revision` says that `output`,
 * which is changed in place, has changed.
 */
export function TerminalOutput({
  output,
  revision,
  saveAll,
}: {
  output: TerminalText
  revision: number
  saveAll: ReactNode
}) {
  const place = useRef<HTMLPreElement>(null)
  const is_pinned = useRef(true)
  const [is_tall, setTall] = useState(false)
  const [is_cut, setCut] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the revision stands for the output.
  useLayoutEffect(() => {
    const element = place.current
    if (!element) return
    if (is_pinned.current) element.scrollTop = element.scrollHeight
    // A good part of a line, not a glyph of a taller font.
    if (!is_tall) setCut(element.scrollHeight > element.clientHeight + 8)
  }, [revision, is_tall])
  return (
    <div>
      {output.dropped > 0 ? (
        <p className="m-0 mb-1 text-soft">
          The first {formatBytes(output.dropped)} are not shown here. {saveAll}
        </p>
      ) : null}
      <ScrollText
        ref={place}
        aria-label="Output"
        className={`-mx-3.5 px-3.5 text-xs leading-relaxed ${is_tall ? '' : 'max-h-[18lh]'}`}
        onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
          is_pinned.current = scrollTop + clientHeight >= scrollHeight - 8
        }}
      >
        {output.blocks.map((block) => (
          <OutputBlock key={block.key} block={block} />
        ))}
      </ScrollText>
      {is_cut ? (
        <button type="button" className="mt-1 text-accent" onClick={() => setTall(!is_tall)}>
          {is_tall ? 'Show less' : 'Show all'}
        </button>
      ) : null}
    </div>
  )
}

const OutputBlock = memo(function OutputBlock({ block }: { block: Block }) {
  return (
    <div>
      {block.parts.map(({ stream, text }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts are added at the end only.
        <span key={index} className={stream === 'stderr' ? 'text-bad' : undefined} data-stream={stream}>
          <BreakableText text={text} />
        </span>
      ))}
    </div>
  )
})
