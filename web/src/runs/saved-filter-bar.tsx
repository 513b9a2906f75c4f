import { Link } from '@tanstack/react-router'
import { Bookmark, X } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { BASE_PATH } from '../client.ts'
import type { RunSearch } from './run-search.ts'
import { isSameSearch, LONGEST_NAME, readSaved, type SavedFilter, withFilter } from './saved-filters.ts'

const KEY = `runyard.saved-filters ${BASE_PATH}`

/** Stored in this browser, which may refuse to. */
function useSavedFilters() {
  const [saved, setSaved] = useState(() => {
    try {
      return readSaved(localStorage.getItem(KEY))
    } catch {
      return []
    }
  })
  const save = (next: SavedFilter[]) => {
    setSaved(next)
    try {
      localStorage.setItem(KEY, JSON.stringify(next))
    } catch {
      // They then last as long as this page.
    }
  }
  return [saved, save] as const
}

/** Somebody has just asked for the field. */
const focusOn = (field: HTMLInputElement | null): void => field?.focus()

/** Filters that were saved here, and the button that saves the current ones. */
export function SavedFilterBar({ search }: { search: RunSearch }) {
  const [saved, save] = useSavedFilters()
  const [name, setName] = useState<string>()
  // All and Mine are one click as it is.
  const is_new =
    Object.keys(search).some((name) => name !== 'creator') &&
    !saved.some((filter) => isSameSearch(filter.search, search))
  if (saved.length === 0 && !is_new) return null
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!name?.trim()) return
    save(withFilter(saved, { name: name.trim(), search }))
    setName(undefined)
  }
  return (
    <div className="mb-3 flex flex-wrap items-center gap-x-2 gap-y-1.5 text-sm">
      {saved.map((filter) => (
        <span
          key={filter.name}
          className={`inline-flex items-center rounded-full border pl-3 ${isSameSearch(filter.search, search) ? 'border-soft font-medium' : 'border-line'}`}
        >
          <Link
            to="/"
            search={filter.search}
            className="max-w-56 truncate py-0.5 text-ink no-underline hover:underline"
          >
            {filter.name}
          </Link>
          <button
            type="button"
            aria-label={`Remove the saved filter ${filter.name}`}
            className="grid size-7 place-items-center text-soft hover:text-ink"
            onClick={() => save(saved.filter((other) => other.name !== filter.name))}
          >
            <X aria-hidden className="size-3.5" />
          </button>
        </span>
      ))}
      {is_new && name === undefined ? (
        <button
          type="button"
          className="inline-flex min-h-7 items-center gap-1.5 text-soft hover:text-ink"
          onClick={() => setName('')}
        >
          <Bookmark aria-hidden className="size-3.5" />
          Save these filters
        </button>
      ) : null}
      {name === undefined ? null : (
        <form className="inline-flex items-center gap-2" onSubmit={submit}>
          <input
            ref={focusOn}
            aria-label="Name of the saved filter"
            placeholder="Name, then Enter"
            className="min-h-8 w-44 rounded-lg border border-line bg-raised px-2.5"
            maxLength={LONGEST_NAME}
            value={name}
            onChange={(event) => setName(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === 'Escape') setName(undefined)
            }}
          />
          <button type="submit" className="text-accent underline">
            Save
          </button>
        </form>
      )}
    </div>
  )
}
