import type { RunItem } from '@runyard/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import { useAccess } from '../client.ts'
import { environmentsQuery } from '../environments/environment-queries.ts'
import { isTyping } from '../shell/typing.ts'
import { formatCost, formatDuration, parseDuration } from '../text/format.ts'
import { firstLine, plainText } from '../text/plain-text.ts'
import { Ago } from '../ui/moment.tsx'
import { StateBadge } from '../ui/state-badge.tsx'

const ROW_PX = 68
/** With the reason on a line of its own. */
const TALL_ROW_PX = 90
/** Of rows and headings alike. */
const COLUMNS = 'grid lg:grid-cols-[9.5rem_minmax(0,1fr)_5.5rem_6.5rem_5rem]'
const OPEN: readonly string[] = ['QUEUED', 'CLAIMED', 'INPROGRESS', 'BLOCKED']
export const isOpen = ({ state }: RunItem): boolean => OPEN.includes(state)

interface Props {
  runs: readonly RunItem[]
  chosen: ReadonlySet<string>
  onChoose: (chosen: ReadonlySet<string>) => void
  /** They are of the search before; those of this one are being read. */
  isOutdated: boolean
  hasMore: boolean
  isReading: boolean
  onMore: () => void
}

/** The rows of the list. Only those near the screen are in the page; the next portion is read before its end is reached. */
export function RunTable({ runs, chosen, onChoose, isOutdated, hasMore, isReading, onMore }: Props) {
  const { may_write } = useAccess()
  const place = useRef<HTMLUListElement>(null)
  const [offset, setOffset] = useState(0)
  useLayoutEffect(() => setOffset(place.current?.offsetTop ?? 0), [])
  const is_narrow = useIsNarrow()
  const heightOf = (run: RunItem | undefined) => (is_narrow && run && reasonOf(run) ? TALL_ROW_PX : ROW_PX)
  const list = useWindowVirtualizer({
    count: runs.length,
    estimateSize: (index) => heightOf(runs[index]),
    overscan: 10,
    scrollMargin: offset,
  })
  const heights = is_narrow ? runs.map(heightOf).join() : ''
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
              className="absolute top-0 left-0 flex w-full items-center border-line border-b hover:bg-ink/3"
              style={{ height: heightOf(run), transform: `translateY(${start - offset}px)` }}
            >
              {may_write ? (
                <input
                  type="checkbox"
                  aria-label={`Select ${plainText(run.title)}`}
                  className="mr-3 ml-1 size-4 accent-(--accent)"
                  checked={chosen.has(run.run_id)}
                  onChange={() => toggle(run.run_id)}
                />
              ) : null}
              <Row run={run} index={index} />
            </li>
          )
        })}
      </ul>
      {isReading ? <p className="py-3 text-center text-sm text-soft">Reading more…</p> : null}
    </>
  )
}

/** What somebody has to know before opening it: why it ended badly, or what it waits for. */
const reasonOf = ({ state, status_message, waiting }: RunItem): string | undefined =>
  ['FAILED', 'ERROR', 'BLOCKED'].includes(state)
    ? status_message?.message
    : waiting && waiting.reason !== 'starting'
      ? waiting.message
      : undefined

const REASON_TONES: Partial<Record<string, string>> = { BLOCKED: 'text-wait', QUEUED: 'text-soft' }

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

/** What the columns of a wide screen are. Beside the list: each row says it in words to those who hear it. */
const Headings = ({ is_shifted }: { is_shifted: boolean }) => (
  <div
    aria-hidden
    className={`${COLUMNS} gap-x-4 pb-1.5 text-soft text-xs max-lg:hidden ${is_shifted ? 'pl-8' : ''}`}
  >
    <span>State</span>
    <span>Run</span>
    <span className="text-right">Created</span>
    <span className="text-right">Worked</span>
    <span className="text-right">Cost</span>
  </div>
)

function Row({ run, index }: { run: RunItem; index: number }) {
  const spent = run.run_time ? parseDuration(run.run_time) : 0
  const cost = run.request_usage?.inference_cost_usd
  const agent =
    run.agent_config.name ?? run.resolved?.model_id ?? run.resolved?.harness ?? run.agent_config.harness?.type
  const reason = reasonOf(run)
  const { data: environments } = useQuery(environmentsQuery(useAccess().client))
  const environment = environments?.find(({ uid }) => uid === run.agent_config.environment_id)?.config.name
  return (
    <Link
      to="/sessions/$run_id"
      params={{ run_id: run.run_id }}
      data-row={index}
      className={`${COLUMNS} h-full min-w-0 flex-1 grid-cols-[minmax(0,1fr)_auto] content-center gap-x-4 gap-y-0.5 text-ink no-underline sm:max-lg:grid-cols-[9.5rem_minmax(0,1fr)_auto] focus-visible:-outline-offset-2`}
    >
      <span className="max-sm:order-2 sm:self-center">
        <StateBadge state={run.state} waits_for={run.status_message?.waits_for} />
      </span>
      <span className="min-w-0 max-sm:order-1 max-sm:col-span-2">
        <span className="block truncate font-medium text-base">{plainText(run.title)}</span>
        {reason ? (
          <span className={`block truncate text-sm ${REASON_TONES[run.state] ?? 'text-bad'}`}>
            {firstLine(reason)}
          </span>
        ) : (
          <span className="block truncate text-sm text-soft max-sm:hidden">
            {plainText(
              [run.archived_at ? 'Archived' : '', agent, environment, run.creator.display_name]
                .filter(Boolean)
                .join(' · '),
            )}
          </span>
        )}
      </span>
      <span className="tabular self-center text-right text-sm text-soft max-sm:order-3 lg:contents">
        <span className="block self-center">
          <span className="unseen">created </span>
          <Ago at={run.created_at} />
        </span>
        <span className="flex justify-end gap-1.5 max-sm:hidden lg:contents">
          <Measure name="worked for">{spent > 0 ? formatDuration(spent) : null}</Measure>
          <Measure name="cost">{cost ? formatCost(cost) : null}</Measure>
        </span>
      </span>
    </Link>
  )
}

/** A column of a wide screen, there where it is empty too; with a dot before it where both stand in one. */
const Measure = ({ name, children }: { name: string; children: string | null }) => (
  <span
    className={`self-center whitespace-nowrap ${children ? '[&+&]:max-lg:before:content-["·_"]' : 'max-lg:hidden'}`}
  >
    {children ? (
      <>
        <span className="unseen">{name} </span>
        {children}
      </>
    ) : null}
  </span>
)

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
