import { useQuery } from '@tanstack/react-query'
import { Search, X } from 'lucide-react'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { useAccess } from '../client.ts'
import { environmentsQuery } from '../environments/environment-queries.ts'
import { isTyping } from '../shell/typing.ts'
import { KeyHint } from '../ui/key-hint.tsx'
import {
  offeredSources,
  type RunSearch,
  SOURCES,
  type Source,
  STATE_GROUPS,
  type StateGroup,
} from './run-search.ts'

/** How long somebody has to stop typing before the search is asked. */
const TYPING_MS = 250

const FIELD = 'min-h-9 rounded-lg border border-line bg-raised px-2.5 text-sm'

/** Search and filters; all of them are in the address. */
export function RunFilters({
  search,
  onChange,
}: {
  search: RunSearch
  /** `is_typed`: one of many steps, which going back does not go through. */
  onChange: (search: RunSearch, is_typed: boolean) => void
}) {
  const { client } = useAccess()
  const { data: environments = [] } = useQuery(environmentsQuery(client))
  const set = (change: { [K in keyof RunSearch]?: RunSearch[K] | undefined }, is_typed = false) => {
    const merged = Object.entries({ ...search, ...change }).filter(
      ([, value]) => value !== undefined && value !== '',
    )
    onChange(Object.fromEntries(merged), is_typed)
  }
  return (
    <search className="mb-4 grid grid-cols-2 gap-2 sm:flex sm:flex-wrap">
      <SearchField value={search.q ?? ''} onSettled={(q) => set({ q: q || undefined }, true)} />
      <Choice label="State" value={search.state} onChange={(state) => set({ state: state as StateGroup })}>
        {Object.entries(STATE_GROUPS).map(([value, { label }]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </Choice>
      <Choice label="Environment" value={search.environment} onChange={(environment) => set({ environment })}>
        {environments.map(({ uid, config }) => (
          <option key={uid} value={config.name}>
            {config.name}
          </option>
        ))}
        <option value="empty-environment">None</option>
      </Choice>
      <Choice label="Source" value={search.source} onChange={(source) => set({ source: source as Source })}>
        {offeredSources(search.source).map((value) => (
          <option key={value} value={value}>
            {SOURCES[value]}
          </option>
        ))}
      </Choice>
      <Choice
        label="Created"
        value={search.days === undefined ? undefined : String(search.days)}
        onChange={(days) => set({ days: days ? Number(days) : undefined })}
      >
        <option value="1">Today</option>
        <option value="7">Last 7 days</option>
        <option value="30">Last 30 days</option>
      </Choice>
      <Choice
        label="Archive"
        value={search.archived}
        onChange={(archived) => set({ archived: archived as RunSearch['archived'] })}
        any="not archived"
      >
        <option value="true">Archived</option>
        <option value="all">All runs</option>
      </Choice>
      {search.trigger ? (
        <Narrowed onClear={() => set({ trigger: undefined })}>From one trigger</Narrowed>
      ) : null}
      {search.creator && search.creator !== 'me' ? (
        <Narrowed onClear={() => set({ creator: undefined })}>Created by one person</Narrowed>
      ) : null}
    </search>
  )
}

/** What a link from elsewhere has chosen, which can be taken away again. */
const Narrowed = ({ onClear, children }: { onClear: () => void; children: ReactNode }) => (
  <button
    type="button"
    className={`${FIELD} inline-flex items-center gap-1.5 border-soft font-medium`}
    onClick={onClear}
  >
    {children}
    <X aria-label="Remove this filter" className="size-3.5 text-soft" />
  </button>
)

function SearchField({ value, onSettled }: { value: string; onSettled: (text: string) => void }) {
  const [text, setText] = useState(value)
  const field = useRef<HTMLInputElement>(null)
  const settled = useRef(onSettled)
  settled.current = onSettled
  // The address may be changed elsewhere: going back, "Show all runs".
  useEffect(() => setText(value), [value])
  useEffect(() => {
    if (text === value) return
    const timer = setTimeout(() => settled.current(text.trim()), TYPING_MS)
    return () => clearTimeout(timer)
  }, [text, value])
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== '/' || isTyping(event)) return
      event.preventDefault()
      field.current?.focus()
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [])
  return (
    <span className="relative min-w-48 flex-1 max-sm:col-span-2">
      <Search aria-hidden className="-translate-y-1/2 absolute top-1/2 left-2.5 size-4 text-soft" />
      <input
        ref={field}
        type="search"
        aria-label="Search titles, prompts, skills and run ids"
        aria-keyshortcuts="/"
        placeholder="Search text, or paste a run's address"
        className={`peer ${FIELD} w-full pl-8`}
        maxLength={256}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Escape' && event.key !== 'Enter') return
          // The browser's own Escape would empty it; the keys of the list are what comes next.
          event.preventDefault()
          settled.current(text.trim())
          event.currentTarget.blur()
        }}
      />
      <KeyHint className="-translate-y-1/2 absolute top-1/2 right-2.5 peer-focus:hidden max-sm:hidden">
        /
      </KeyHint>
    </span>
  )
}

function Choice({
  label,
  value,
  onChange,
  any = 'any',
  children,
}: {
  label: string
  value: string | undefined
  onChange: (value: string | undefined) => void
  /** What counts when nothing is chosen. */
  any?: string
  children: ReactNode
}) {
  return (
    <select
      aria-label={label}
      className={`${FIELD} min-w-0 sm:max-w-44 ${value ? 'border-soft font-medium' : 'text-soft'}`}
      value={value ?? ''}
      onChange={(event) => onChange(event.target.value || undefined)}
    >
      <option value="">
        {label}: {any}
      </option>
      {children}
    </select>
  )
}
