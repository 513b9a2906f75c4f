import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Command } from 'cmdk'
import { Dialog } from 'radix-ui'
import { type ReactNode, useEffect, useState } from 'react'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { StateBadge } from '../ui/state-badge.tsx'
import { KeyList } from './key-list.tsx'
import { MAKERS, PLACES, SERVICE_PLACES } from './places.ts'
import { isTyping } from './typing.ts'

const ITEM =
  'flex items-center gap-3 rounded-md px-3 py-2 text-sm data-[selected=true]:bg-ink/6 cursor-pointer'

const MOST_GUIDES = 5

/** Goes anywhere by a few letters (⌘K, Ctrl+K): to a page, or to a run by its title. */
export function CommandPalette({ is_open, setOpen }: { is_open: boolean; setOpen: (open: boolean) => void }) {
  const navigate = useNavigate()
  const { may_write } = useAccess()
  const [shows_keys, showKeys] = useState(false)
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === 'k' && (event.metaKey || event.ctrlKey)) {
        event.preventDefault()
        setOpen(!is_open)
      } else if (event.key === 'c' && may_write && !isTyping(event)) {
        event.preventDefault()
        navigate({ to: '/new' })
      } else if (event.key === '?' && !isTyping(event)) {
        event.preventDefault()
        showKeys(true)
      }
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [navigate, may_write, is_open, setOpen])
  return (
    <>
      <Window title="Go to" is_open={is_open} setOpen={setOpen}>
        <Palette close={() => setOpen(false)} />
      </Window>
      <Window title="Keys" is_open={shows_keys} setOpen={showKeys}>
        <KeyList may_write={may_write} />
      </Window>
    </>
  )
}

function Window({
  title,
  is_open,
  setOpen,
  children,
}: {
  title: string
  is_open: boolean
  setOpen: (open: boolean) => void
  children: ReactNode
}) {
  return (
    <Dialog.Root open={is_open} onOpenChange={setOpen}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-20 bg-scrim" />
        <Dialog.Content
          aria-describedby={undefined}
          className="-translate-x-1/2 fixed top-[12vh] left-1/2 z-20 w-[min(36rem,calc(100vw-2rem))] overflow-hidden rounded-2xl border border-line bg-raised shadow-xl"
        >
          <Dialog.Title className="unseen">{title}</Dialog.Title>
          {children}
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function Palette({ close }: { close: () => void }) {
  const { client, may_write } = useAccess()
  const navigate = useNavigate()
  const [text, setText] = useState('')
  const q = text.trim()
  const { data, isPlaceholderData } = useQuery({
    queryKey: ['runs', 'palette', q],
    queryFn: async ({ signal }) =>
      (await client.runs.list({ limit: 8, ...(q ? { q } : {}) }, { signal })).runs,
    placeholderData: (before) => before,
  })
  const { data: all_guides = [] } = useQuery({
    queryKey: ['guides', 'names'],
    queryFn: async () => (await import('../docs/guides.ts')).GUIDES,
    staleTime: Number.POSITIVE_INFINITY,
    networkMode: 'always',
  })
  const isNamed = (name: string) => name.toLowerCase().includes(q.toLowerCase())
  const places = [...PLACES, ...SERVICE_PLACES, ...(may_write ? MAKERS : [])].filter(
    (place) => isNamed(place.label) || ('also' in place && q !== '' && isNamed(place.also)),
  )
  const guides = q === '' ? [] : all_guides.filter(({ title }) => isNamed(title)).slice(0, MOST_GUIDES)
  // Until the answer is there, Enter must not open a run that was found for fewer letters.
  const runs = (data ?? []).filter(({ title }) => !isPlaceholderData || isNamed(title))
  return (
    <Command label="Go to" shouldFilter={false}>
      <Command.Input
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
    </Command>
  )
}
