import { Link } from '@tanstack/react-router'
import type { RunSearch } from './run-search.ts'

/** All runs, or those that one has created. */
export function OwnerChoice({ search }: { search: RunSearch }) {
  const { creator, ...rest } = search
  const choices = [
    { label: 'All', is_chosen: creator === undefined, to: rest },
    { label: 'Mine', is_chosen: creator === 'me', to: { ...rest, creator: 'me' } },
  ]
  return (
    <nav aria-label="Whose runs" className="flex rounded-lg border border-line p-0.5 text-sm">
      {choices.map(({ label, is_chosen, to }) => (
        <Link
          key={label}
          to="/"
          search={to}
          // A link to a page with fewer filters would count as current, too.
          activeOptions={{ exact: true }}
          activeProps={{}}
          aria-current={is_chosen ? 'true' : undefined}
          className={`min-w-14 rounded-md px-3 py-1 text-center no-underline ${is_chosen ? 'bg-ink/8 font-medium text-ink' : 'text-soft hover:text-ink'}`}
        >
          {label}
        </Link>
      ))}
    </nav>
  )
}
