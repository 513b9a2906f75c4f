import type { RunItem } from '@runyard/client'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { useAccess } from '../client.ts'
import { isTyping } from '../shell/typing.ts'
import { plainText } from '../text/plain-text.ts'
import { reasonOf, taskOf } from './row-facts.ts'
import { Headings, RunRow } from './run-row.tsx'

const ROW_PX = 54
const NARROW_ROW_PX = 62
/** Rows of these heights before there are runs. */
export const ROW_LOOK = 'h-[54px] max-sm:h-[62px]'
/** With a line for what is to be done, or why. */
const TALL_ROW_PX = 82
/** Above the first row of a group. */
const GROUP_PX = 40
const OPEN: readonly string[] = ['QUEUED', 'CLAIMED', 'INPROGRESS', 'BLOCKED']
export const isOpen = ({ state }: RunItem): boolean => OPEN.includes(state)

interface Props {
  runs: readonly RunItem[]
  /** What stands above a row, by its index: the name of the group that begins there. */
  groups: Readonly<Record<number, ReactNode>>
  chosen: ReadonlySet<string>
  onChoose: (chosen: ReadonlySet<string>) => void
  /** They are of the search before; those of this one are being read. */
  isOutdated: boolean
  hasMore: boolean
  isReading: boolean
  onMore: () => void
}

/** The rows of the list. Only those near the screen are in the page; the next portion is read before its end is reached. */
export function RunTable({ runs, groups, chosen, onChoose, isOutdated, hasMore, isReading, onMore }: Props) {
  const { may_write } = useAccess()
  const place = useRef<HTMLUListElement>(null)
  const offset = useTopOf(place)
  const is_narrow = useIsNarrow()
  const rowHeightOf = (run: RunItem | undefined) =>
    is_narrow ? (run && (reasonOf(run) || taskOf(run)) ? TALL_ROW_PX : NARROW_ROW_PX) : ROW_PX
  const heightOf = (index: number) => rowHeightOf(runs[index]) + (index in groups ? GROUP_PX : 0)
  const list = useWindowVirtualizer({
    count: runs.length,
    estimateSize: heightOf,
    overscan: 10,
    scrollMargin: offset,
  })
  const heights = is_narrow ? runs.map((_, index) => heightOf(index)).join() : Object.keys(groups).join()
  // biome-ignore lint/correctness/useExhaustiveDependencies: it has to forget the heights that it knew when they change.
  useLayoutEffect(() => list.measure(), [heights])
  const items = list.getVirtualItems()
  const last = items.at(-1)?.index ?? 0
  useEffect(() => {
    if (hasMore && !isReading && last >= runs.length - 20) onMore()
  }, [hasMore, isReading, last, runs.length, onMore])
  useRowKeys(place, runs.length, (index) => list.scrollToIndex(index))
  const toggle = (run_id: string) => {
    const next = new Set(chosen)
    if (!next.delete(run_id)) next.add(run_id)
    onChoose(next)
  }
  return (
    <>
      <Headings is_shifted={may_write} />
      <ul
        ref={place}
        aria-label="Runs"
        aria-busy={isOutdated}
        className="relative m-0 list-none border-line border-t p-0 transition-opacity aria-busy:opacity-60"
        style={{ height: list.getTotalSize() }}
      >
        {items.map(({ index, start }) => {
          const run = runs[index]
          if (!run) return null
          return (
            <li
              key={run.run_id}
              className="absolute top-0 left-0 w-full border-line border-b"
              style={{ height: heightOf(index), transform: `translateY(${start - offset}px)` }}
            >
              {index in groups ? (
                <div className="flex items-end gap-3 pb-1.5 text-sm" style={{ height: GROUP_PX }}>
                  {groups[index]}
                </div>
              ) : null}
              <div className="flex items-center hover:bg-ink/3" style={{ height: rowHeightOf(run) - 1 }}>
                {may_write ? (
                  <input
                    type="checkbox"
                    aria-label={`Select ${plainText(run.title)}`}
                    className="mr-3 ml-1 size-4 accent-(--accent)"
                    checked={chosen.has(run.run_id)}
                    onChange={() => toggle(run.run_id)}
                  />
                ) : null}
                <RunRow run={run} index={index} />
              </div>
            </li>
          )
        })}
      </ul>
      {isReading ? <p className="py-3 text-center text-sm text-soft">Loading more…</p> : null}
    </>
  )
}

/** How far below the page's beginning an element stands. What is above it comes and goes: filters, what is chosen. */
function useTopOf(place: React.RefObject<HTMLElement | null>): number {
  const [top, setTop] = useState(0)
  useLayoutEffect(() => {
    const measure = () => setTop(place.current?.offsetTop ?? 0)
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(document.body)
    return () => observer.disconnect()
  }, [place])
  return top
}

/** As Tailwind's `max-sm`, where what stands in a row beside the title goes below it. */
const NARROW = '(width < 40rem)'

function useIsNarrow(): boolean {
  const [is_narrow, setNarrow] = useState(() => matchMedia(NARROW).matches)
  useEffect(() => {
    const query = matchMedia(NARROW)
    const onChange = () => setNarrow(query.matches)
    query.addEventListener('change', onChange)
    return () => query.removeEventListener('change', onChange)
  }, [])
  return is_narrow
}

/** `j` and `k` go down and up the rows; Enter opens the one in focus. */
function useRowKeys(
  place: React.RefObject<HTMLElement | null>,
  count: number,
  show: (index: number) => void,
): void {
  const current = useRef(-1)
  // With the rows themselves: a key that comes right after them must not count those that were there before.
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      // What is searched for next has a first row of its own.
      if (isTyping(event)) current.current = -1
      else if (event.key === 'j' || event.key === 'k') move(event)
    }
    const move = (event: KeyboardEvent) => {
      const focused = document.activeElement?.closest<HTMLElement>('[data-row]')?.dataset.row
      const from = focused === undefined ? current.current : Number(focused)
      const next = Math.max(0, Math.min(count - 1, from + (event.key === 'j' ? 1 : -1)))
      current.current = next
      event.preventDefault()
      show(next)
      const find = () => place.current?.querySelector<HTMLElement>(`[data-row="${next}"]`)
      const row = find()
      // At once where it can be: the next key counts from there.
      if (row) row.focus()
      else requestAnimationFrame(() => find()?.focus())
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [place, count, show])
}
