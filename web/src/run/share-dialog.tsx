import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Dialog } from 'radix-ui'
import { useState } from 'react'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { CopyBlock } from '../ui/copy-block.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { Ago } from '../ui/moment.tsx'
import { Problem } from '../ui/problem.tsx'

const LASTS = { '1': 'A day', '7': 'A week', '30': '30 days', '': 'Until it is revoked' } as const
const DAY_MS = 86_400_000

/** The address of this page for people with a key, and links for people without. */
export function ShareDialog({
  run_id,
  is_open,
  onOpen,
}: {
  run_id: string
  is_open: boolean
  onOpen: (is_open: boolean) => void
}) {
  return (
    <Dialog.Root open={is_open} onOpenChange={onOpen}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-20 bg-scrim" />
        <Dialog.Content
          aria-describedby={undefined}
          className="-translate-x-1/2 -translate-y-1/2 fixed top-1/2 left-1/2 z-20 grid max-h-[90vh] w-[min(32rem,calc(100vw-2rem))] gap-4 overflow-y-auto rounded-2xl border border-line bg-raised p-5 shadow-xl"
        >
          <Dialog.Title className="m-0 font-semibold text-base">Share this run</Dialog.Title>
          <div>
            <h3 className="m-0 mb-1 font-medium text-sm">For people with a key</h3>
            <CopyBlock text={location.origin + location.pathname} />
          </div>
          <ShareLinks run_id={run_id} />
          <Dialog.Close className={`${buttonClass()} justify-self-end`}>Close</Dialog.Close>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function ShareLinks({ run_id }: { run_id: string }) {
  const { client } = useAccess()
  const queries = useQueryClient()
  const queryKey = ['run', run_id, 'share-links']
  const { data, error } = useQuery({
    queryKey,
    // One page holds as many as a run may have.
    queryFn: async ({ signal }) =>
      (await client.shareLinks.list(run_id, { limit: 100 }, { signal })).share_links,
  })
  const refresh = () => queries.invalidateQueries({ queryKey })
  const [name, setName] = useState('')
  const [days, setDays] = useState('7')
  const create = useMutation({
    mutationFn: () =>
      client.shareLinks.create(run_id, {
        ...(name.trim() ? { name: name.trim() } : {}),
        ...(days ? { expires_at: new Date(Date.now() + Number(days) * DAY_MS).toISOString() } : {}),
      }),
    onSuccess: () => {
      setName('')
      return refresh()
    },
  })
  const revoke = useMutation({
    mutationFn: (id: string) => client.shareLinks.revoke(run_id, id),
    onSuccess: refresh,
  })
  const problem = error ?? create.error ?? revoke.error
  return (
    <section className="grid gap-3">
      <h3 className="m-0 font-medium text-sm">
        For people without a key: they see this run, and nothing else
      </h3>
      <form
        className="grid items-end gap-2 sm:grid-cols-[1fr_1fr_auto]"
        onSubmit={(event) => {
          event.preventDefault()
          create.mutate()
        }}
      >
        <TextField label="For whom (optional)" maxLength={256} value={name} onText={setName} />
        <SelectField label="It works for" value={days} onText={setDays}>
          {Object.entries(LASTS).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectField>
        <Button type="submit" kind="primary" className="min-h-10" disabled={create.isPending}>
          Make a link
        </Button>
      </form>
      {create.data ? (
        <div>
          <p className="m-0 mb-1 text-sm text-soft">Copy it now: it is not shown again.</p>
          <CopyBlock text={create.data.url} />
        </div>
      ) : null}
      {problem ? <Problem error={problem} /> : null}
      <ul className="m-0 grid list-none gap-1.5 p-0 text-sm">
        {data?.map((link) => (
          <li
            key={link.share_link_id}
            className="flex flex-wrap items-center gap-x-3 border-line border-t pt-1.5"
          >
            <span className="font-medium">{plainText(link.name ?? 'A link')}</span>
            <span className="text-soft">
              made <Ago at={link.created_at} />
              {link.last_used_at ? (
                <>
                  , used <Ago at={link.last_used_at} />
                </>
              ) : null}
            </span>
            <Button
              kind="danger"
              className="ml-auto"
              disabled={revoke.isPending}
              onClick={() => revoke.mutate(link.share_link_id)}
            >
              Revoke
            </Button>
          </li>
        ))}
      </ul>
    </section>
  )
}
