import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { useCallback, useLayoutEffect, useRef, useState } from 'react'
import type { Entry } from './entry.ts'
import { EntryView } from './entry-view.tsx'

/** How far from its end a page still counts as being there. */
const END_PX = 48
const GAP_PX = 16

/** The conversation of a run. Only what is near the screen is in the page: a log may have tens of thousands of entries. */
export function Conversation({
  entries,
  run_id,
  told_keys,
}: {
  entries: readonly Entry[]
  run_id: string
  /** Entries that the top of the page shows in full. */
  told_keys: readonly (string | undefined)[]
}) {
  const place = useRef<HTMLDivElement>(null)
  const [offset, setOffset] = useState(0)
  // What stands above grows, too: the result, the changes.
  useLayoutEffect(() => {
    const measure = () => {
      if (place.current) setOffset(Math.round(place.current.getBoundingClientRect().top + window.scrollY))
    }
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(document.body)
    return () => observer.disconnect()
  }, [])
  const keyOf = useCallback((index: number) => entries[index]?.key ?? index, [entries])
  const list = useWindowVirtualizer({
    count: entries.length,
    estimateSize: () => 90,
    gap: GAP_PX,
    overscan: 12,
    scrollMargin: offset,
    getItemKey: keyOf,
  })
  return (
    <div
      ref={place}
      className="relative"
      style={{ height: list.getTotalSize() }}
      role="log"
      aria-label="Conversation"
      aria-live="off"
    >
      {list.getVirtualItems().map((item) => {
        const entry = entries[item.index]
        if (!entry) return null
        return (
          <div
            key={item.key}
            data-index={item.index}
            ref={list.measureElement}
            className="absolute top-0 left-0 w-full"
            style={{ transform: `translateY(${item.start - offset}px)` }}
          >
            <EntryView entry={entry} run_id={run_id} is_told_above={told_keys.includes(entry.key)} />
          </div>
        )
      })}
    </div>
  )
}

/**
 * Keeps a reader who is at the end of the page there, however it grows; anyone else is told that there is more. `growth` changes
 * with each portion of news.
 */
export function useStayAtEnd(growth: number, starts_at_end: boolean) {
  const is_at_end = useRef(starts_at_end)
  const [has_news, setNews] = useState(false)
  const toEnd = useCallback(() => window.scrollTo({ top: document.documentElement.scrollHeight }), [])
  useLayoutEffect(() => {
    const root = document.documentElement
    let height = root.scrollHeight
    const onScroll = () => {
      is_at_end.current = window.scrollY + window.innerHeight >= height - END_PX
      if (is_at_end.current) setNews(false)
    }
    // Entries that come near the screen get their true height only then, so new text is not all that makes the page grow.
    const observer = new ResizeObserver(() => {
      height = root.scrollHeight
      if (is_at_end.current) toEnd()
    })
    observer.observe(document.body)
    window.addEventListener('scroll', onScroll, { passive: true })
    return () => {
      observer.disconnect()
      window.removeEventListener('scroll', onScroll)
    }
  }, [toEnd])
  const seen = useRef(growth)
  useLayoutEffect(() => {
    if (growth > seen.current && !is_at_end.current) setNews(true)
    seen.current = growth
  }, [growth])
  return { has_news, toEnd }
}
