import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { TextField } from '../ui/field.tsx'
import { sayWhy } from '../ui/problem.tsx'
import { useSettled } from '../ui/use-settled.ts'
import type { RunForm } from './run-form.ts'

const MINUTE_MS = 60_000
/** `host/owner/name`, with a scheme or without, or `owner/name`: before that no host has anything to say. */
const NAMED = /^(?:[\w-]+|(?:[\w+]+:\/\/)?[^\s/]+[/:][^\s/]+)\/[^\s/]/

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
  const typed = repository.trim()
  const query = useSettled(typed)
  const prefix = useSettled(ref.trim())
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
    enabled: may_write && asks.branches && NAMED.test(query),
    placeholderData: keepPreviousData,
    staleTime: MINUTE_MS,
  })
  const hosted = found.data?.repositories ?? []
  const chosen = hosted.find(({ url }) => url === typed.replace(/\.git$/, ''))
  // What is said of a repository that was typed before says nothing of this one.
  const is_current = query === typed && !branches.isPlaceholderData
  const answer = is_current ? branches.data : undefined
  const error = (is_current ? branches.error : null) ?? found.error
  const hint = chosen?.is_private
    ? `Private: choose an environment with the secret ${chosen.secret_name}, or the run can't clone it.`
    : (answer?.notes[0] ?? (error ? `No suggestions: ${sayWhy(error)}` : found.data?.notes[0]))
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
        placeholder={answer?.default_branch ?? 'default'}
        maxLength={256}
        spellCheck={false}
        value={ref}
        onFocus={() => setAsks((now) => ({ ...now, branches: true }))}
        onText={(text) => set({ ref: text })}
      />
      <datalist id="branches">
        {answer?.branches.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </div>
  )
}
