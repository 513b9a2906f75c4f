import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { TextField } from '../ui/field.tsx'
import type { RunForm } from './run-form.ts'

const MINUTE_MS = 60_000

/**
 * The repository of a run and its branch. Those of environments are offered first, then those that the person's git secrets reach;
 * any other is typed, and a git host that does not answer keeps nobody from that.
 */
export function RepositoryFields({
  form: { repository, ref },
  set,
  known,
}: {
  form: Pick<RunForm, 'repository' | 'ref'>
  set: (change: Partial<RunForm>) => void
  /** Addresses that environments have. */
  known: readonly string[]
}) {
  const { client, may_write } = useAccess()
  const [asks, setAsks] = useState({ repositories: false, branches: false })
  const query = useDeferredValue(repository.trim())
  const prefix = useDeferredValue(ref.trim())
  const found = useQuery({
    queryKey: ['repositories', query],
    queryFn: ({ signal }) => client.repositories.list({ query }, { signal, maxRetries: 0 }),
    enabled: may_write && asks.repositories,
    placeholderData: keepPreviousData,
    staleTime: MINUTE_MS,
  })
  const branches = useQuery({
    queryKey: ['branches', query, prefix],
    queryFn: ({ signal }) =>
      client.repositories.branches({ repository: query, query: prefix }, { signal, maxRetries: 0 }),
    enabled: may_write && asks.branches && query.includes('/'),
    placeholderData: keepPreviousData,
    staleTime: MINUTE_MS,
  })
  const hosted = found.data?.repositories ?? []
  const chosen = hosted.find(({ url }) => url === query.replace(/\.git$/, ''))
  // What is said of a repository that was typed before says nothing of this one.
  const said = branches.data && !branches.isPlaceholderData ? branches.data.notes[0] : undefined
  const hint = chosen?.is_private
    ? `Private: choose an environment with the secret ${chosen.secret_name}, or the run can't clone it.`
    : (said ?? found.data?.notes[0])
  const offered = [...new Set([...known, ...hosted.map(({ url }) => url)])]
  return (
    <div className="grid grid-cols-[minmax(0,1fr)_8rem] gap-2">
      <TextField
        label="Repository"
        hint={hint && plainText(hint)}
        list="repositories"
        placeholder="https://github.com/owner/name"
        maxLength={2000}
        spellCheck={false}
        value={repository}
        onFocus={() => setAsks((now) => ({ ...now, repositories: true }))}
        onText={(text) => set({ repository: text })}
      />
      <datalist id="repositories">
        {offered.map((url) => (
          <option key={url} value={url} />
        ))}
      </datalist>
      <TextField
        label="Branch"
        list="branches"
        placeholder={(branches.isPlaceholderData ? null : branches.data?.default_branch) ?? 'default'}
        maxLength={256}
        spellCheck={false}
        value={ref}
        onFocus={() => setAsks((now) => ({ ...now, branches: true }))}
        onText={(text) => set({ ref: text })}
      />
      <datalist id="branches">
        {branches.isPlaceholderData
          ? null
          : branches.data?.branches.map((name) => <option key={name} value={name} />)}
      </datalist>
    </div>
  )
}
