import { useNavigate } from '@tanstack/react-router'
import { Dialog } from 'radix-ui'
import { type ReactNode, useEffect, useState } from 'react'
import { useAccess } from '../client.ts'
import { KeyList } from './key-list.tsx'
import { lazyPage } from './lazy-page.tsx'
import { isTyping } from './typing.ts'

const Palette = lazyPage<'Palette', { close: () => void }>(() => import('./palette.tsx'), 'Palette')

/** Goes anywhere by a few letters (⌘K, Ctrl+K): to a page, or to a run by its title. */
export function CommandPalette({ is_open, setOpen }: { is_open: boolean; setOpen: (open: boolean) => void }) {
  const navigate = useNavigate()
  const { may_write } = useAccess()
  const [shows_keys, showKeys] = useState(false)
  // Right after the first view: what is typed into it must not wait for its code.
  useEffect(() => void Palette.preload(), [])
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
