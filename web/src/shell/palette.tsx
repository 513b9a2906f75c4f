import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Command } from 'cmdk'
import { useState } from 'react'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { StateBadge } from '../ui/state-badge.tsx'
import { MAKERS, PLACES, servicePlaces } from './places.ts'

const ITEM =
  'flex items-center gap-3 rounded-md px-3 py-2 text-sm data-[selected=true]:bg-ink/6 cursor-pointer'

const MOST_GUIDES = 5

/** Finds pages, runs and guides by what is typed. */
export function Palette({ close }: { close: () => void }) {
  const { client, may_write, may_administer } = useAccess()
  const navigate = useNavigate()
  const [text, setText] = useState('')
  const q = text.trim()
  const { data, isPlaceholderData } = useQuery({
    queryKey: ['runs', 'palette', q],
    queryFn: async ({ signal }) =>
      (await client.runs.list({ limit: 8, ...(q ? { q } : {}) }, { signal })).runs,
    placeholderData: (before) => before,
  })
  const { data: all_guides = [], isError: has_no_guides } = useQuery({
    queryKey: ['guides', 'names'],
    queryFn: async () => (await import('../docs/guides.ts')).GUIDES,
    staleTime: Number.POSITIVE_INFINITY,
    networkMode: 'always',
  })
  const isNamed = (name: string) => name.toLowerCase().includes(q.toLowerCase())
  const places = [...PLACES, ...servicePlaces(may_administer), ...(may_write ? MAKERS : [])].filter(
    (place) => isNamed(place.label) || ('also' in place && q !== '' && isNamed(place.also)),
  )
  const guides = q === '' ? [] : all_guides.filter(({ title }) => isNamed(title)).slice(0, MOST_GUIDES)
  // Until the answer is there, Enter must not open a run that was found for fewer letters.
  const runs = (data ?? []).filter(({ title }) => !isPlaceholderData || isNamed(title))
  return (
    <Command label="Go to" shouldFilter={false}>
      {/* It may come after its window, which has looked for a field to focus by then. */}
      <Command.Input
        autoFocus
        value={text}
        onValueChange={setText}
        placeholder="A page, a guide, or a run by its title or prompt"
        className="w-full border-line border-b bg-transparent px-4 py-3.5 text-base outline-none"
      />
      <Command.List className="max-h-[50vh] overflow-y-auto p-1.5">
        {places.map(({ to, label }) => (
          <Command.Item key={to} value={to} className={ITEM} onSelect={() => navigate({ to }).then(close)}>
            {label}
          </Command.Item>
        ))}
        {runs.map(({ run_id, title, state }) => (
          <Command.Item
            key={run_id}
            value={run_id}
            className={ITEM}
            onSelect={() => navigate({ to: '/sessions/$run_id', params: { run_id } }).then(close)}
          >
            <span className="min-w-0 flex-1 truncate">{plainText(title)}</span>
            <StateBadge state={state} />
          </Command.Item>
        ))}
        {guides.map(({ path, title }) => (
          <Command.Item
            key={path}
            value={`docs ${path}`}
            className={ITEM}
            onSelect={() => navigate({ to: '/docs/guides/$', params: { _splat: path } }).then(close)}
          >
            <span className="min-w-0 flex-1 truncate">{title}</span>
            <span className="text-soft">Docs</span>
          </Command.Item>
        ))}
      </Command.List>
      {has_no_guides && q !== '' ? (
        <p role="status" className="m-0 px-3 py-2 text-sm text-soft">
          The guides did not arrive. Reload the tab to find them here.
        </p>
      ) : null}
    </Command>
  )
}
