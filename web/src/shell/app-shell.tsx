import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, Outlet, useMatches } from '@tanstack/react-router'
import { Menu, Plus } from 'lucide-react'
import { DropdownMenu } from 'radix-ui'
import { type ReactNode, useEffect, useMemo, useState } from 'react'
import { type Access, AccessContext, BASE_PATH, createClient } from '../client.ts'
import { buttonClass } from '../ui/button.tsx'
import { KeyHint } from '../ui/key-hint.tsx'
import { Problem } from '../ui/problem.tsx'
import type { Arrived } from './arrival.ts'
import { AttentionNotices, canNotify, type Notices, useNotices } from './attention-notices.tsx'
import { CommandPalette } from './command-palette.tsx'
import { ConfirmSignIn } from './confirm-sign-in.tsx'
import { ConnectionNotice } from './connection-notice.tsx'
import { COMMAND_K } from './key-list.tsx'
import { readPagesWhenIdle } from './lazy-page.tsx'
import { PLACES, servicePlaces } from './places.ts'
import { RightToWrite } from './right-to-write.tsx'
import { changeSession, type Session, sessionQuery, signOut } from './session.ts'
import { SignIn } from './sign-in.tsx'
import { VisitGate } from './visit-gate.tsx'

/** What every page stands in: who is here, where one can go. `arrived`: what came of the link that brought somebody here. */
export const AppShell = ({ arrived }: { arrived: Arrived }) => (
  <>
    <Entrance arrived={arrived} />
    <ConnectionNotice />
  </>
)

function Entrance({ arrived: { refusal, link } }: { arrived: Arrived }) {
  const { data: session, error, refetch } = useQuery(sessionQuery)
  const run_id = useVisitedRun()
  // They hold nothing of anybody.
  const is_docs = useMatches({
    select: (matches) => matches.some(({ routeId }) => routeId.startsWith('/docs/guides')),
  })
  const notices = useNotices()
  const [is_going, setGoing] = useState(false)
  const [is_asked, setAsked] = useState(link !== undefined)
  if (session === undefined) {
    if (!error) return null
    return (
      <main className="mx-auto mt-[12vh] max-w-md px-(--edge)">
        <Problem error={error} onRetry={() => refetch()} />
      </main>
    )
  }
  if (is_asked && link) return <ConfirmSignIn session={session} link={link} onDone={() => setAsked(false)} />
  if (session === null) {
    if (is_docs)
      return (
        <Frame session={null}>
          <Outlet />
        </Frame>
      )
    if (run_id === undefined) return <SignIn reason={refusal} />
    return (
      <VisitGate run_id={run_id} refused={<SignIn reason={refusal} is_run />}>
        <Frame session={null}>
          <Outlet />
        </Frame>
      </VisitGate>
    )
  }
  return (
    <SignedIn session={session}>
      {notices.is_on ? <AttentionNotices /> : null}
      <Frame session={session} notices={notices} onGoTo={() => setGoing(true)}>
        <RightToWrite>
          <Outlet />
        </RightToWrite>
      </Frame>
      <CommandPalette is_open={is_going} setOpen={setGoing} />
    </SignedIn>
  )
}

function SignedIn({ session, children }: { session: Session; children: ReactNode }) {
  const access = useMemo<Access>(
    () => ({
      client: createClient(),
      may_write: session.role !== 'viewer',
      may_administer: session.role === 'admin',
      is_visitor: false,
    }),
    [session],
  )
  useEffect(readPagesWhenIdle, [])
  return <AccessContext value={access}>{children}</AccessContext>
}

/** The run whose page this is, if it is one. */
function useVisitedRun(): string | undefined {
  return useMatches({
    select: (matches) =>
      matches
        .map(({ params }) => ('run_id' in params ? params.run_id : undefined))
        .find((id) => id !== undefined),
  })
}

interface FrameProps {
  session: Session | null
  notices?: Notices
  /** Asks where to go. */
  onGoTo?: () => void
  children: ReactNode
}

function Frame({ session, notices, onGoTo, children }: FrameProps) {
  return (
    <>
      <nav
        aria-label="Pages"
        className="mx-auto flex min-h-14 max-w-(--page) items-center gap-5 px-(--edge) text-sm"
      >
        {/* The page has a <base>, which a bare fragment would count from. */}
        <a className="skip" href={`${location.pathname}#main`}>
          Skip to the page
        </a>
        <Link to="/" className="mark">
          Runyard
        </Link>
        {session ? (
          <>
            <div className="flex gap-5 max-lg:hidden">
              {PLACES.map(({ to, label }) => (
                <Link
                  key={to}
                  to={to}
                  activeOptions={{ exact: to === '/', includeSearch: false }}
                  className="text-soft no-underline hover:text-ink aria-[current=page]:text-ink"
                >
                  {label}
                </Link>
              ))}
            </div>
            <span className="ml-auto flex items-center gap-2">
              <button
                type="button"
                aria-label={`${COMMAND_K}: go to a page or a run`}
                aria-keyshortcuts="Meta+K Control+K"
                className="max-sm:hidden lg:max-xl:hidden"
                onClick={onGoTo}
              >
                <KeyHint>{COMMAND_K}</KeyHint>
              </button>
              {session.role === 'viewer' ? null : (
                <Link to="/new" className={buttonClass('primary')}>
                  <Plus aria-hidden className="size-4" />
                  New run
                </Link>
              )}
              <PersonMenu session={session} notices={notices} />
            </span>
          </>
        ) : (
          <Link className="ml-auto text-soft no-underline" to="/docs/guides">
            Docs
          </Link>
        )}
      </nav>
      <main id="main" tabIndex={-1} className="mx-auto max-w-(--page) px-(--edge) pb-8 outline-none">
        {children}
      </main>
    </>
  )
}

const ITEM =
  'block w-full rounded-md px-3 py-2 text-left text-sm text-ink no-underline outline-none data-highlighted:bg-ink/6'

function PersonMenu({ session, notices }: { session: Session; notices: Notices | undefined }) {
  const queries = useQueryClient()
  const [error, setError] = useState<unknown>()
  const leave = () =>
    signOut().then(
      () => changeSession(queries, null),
      (reason) => setError(reason),
    )
  const name = session.principal.name ?? session.principal.uid
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger className={buttonClass()} aria-label={`Menu of ${name}`}>
        <Menu aria-hidden className="size-4" />
        <span className="max-w-32 truncate max-sm:hidden lg:max-xl:hidden">{name}</span>
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align="end"
          sideOffset={6}
          className="z-20 min-w-52 rounded-xl border border-line bg-raised p-1.5 shadow-xl"
        >
          <DropdownMenu.Label className="px-3 py-2 text-soft text-xs">
            {name} · {session.role}
            {session.key_name ? <span className="block">key {session.key_name}</span> : null}
          </DropdownMenu.Label>
          <div className="lg:hidden">
            {PLACES.map(({ to, label }) => (
              <DropdownMenu.Item key={to} asChild className={ITEM}>
                <Link to={to}>{label}</Link>
              </DropdownMenu.Item>
            ))}
          </div>
          {servicePlaces(session.role === 'admin').map(({ to, label }) => (
            <DropdownMenu.Item key={to} asChild className={ITEM}>
              <Link to={to}>{label}</Link>
            </DropdownMenu.Item>
          ))}
          <DropdownMenu.Item asChild className={ITEM}>
            <a href={`${BASE_PATH}docs/api`}>API reference</a>
          </DropdownMenu.Item>
          {notices ? <NoticesItem notices={notices} /> : null}
          <DropdownMenu.Separator className="mx-2 my-1 border-line border-t" />
          <DropdownMenu.Item className={ITEM} onSelect={leave}>
            Sign out
          </DropdownMenu.Item>
          {error ? <p className="m-0 px-3 py-1 text-bad text-sm">Signing out failed. Try again.</p> : null}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

/** With the menu each time it is opened. */
const NoticesItem = ({ notices: { is_on, toggle } }: { notices: Notices }) =>
  canNotify() ? (
    <DropdownMenu.CheckboxItem className={ITEM} checked={is_on} onCheckedChange={toggle}>
      {is_on ? '✓ ' : ''}Notify me when a run needs me
    </DropdownMenu.CheckboxItem>
  ) : null
