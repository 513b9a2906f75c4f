import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { Button } from '../ui/button.tsx'
import { ConfirmButton } from '../ui/confirm-button.tsx'
import { TextField } from '../ui/field.tsx'
import { Rows } from '../ui/page-head.tsx'
import { Problem } from '../ui/problem.tsx'

const IDENTITIES = ['identities']

/** Service accounts: who runs are executed as, with defaults of their own. */
export function Identities() {
  const { client, may_administer } = useAccess()
  const queries = useQueryClient()
  const refresh = () => queries.invalidateQueries({ queryKey: IDENTITIES })
  const { data, error } = useQuery({
    queryKey: IDENTITIES,
    queryFn: async ({ signal }) => (await client.identities.list({ signal })).agents,
  })
  const [name, setName] = useState('')
  const create = useMutation({
    mutationFn: () => client.identities.create({ name: name.trim() }),
    onSuccess: () => {
      setName('')
      return refresh()
    },
  })
  const remove = useMutation({
    mutationFn: (uid: string) => client.identities.delete(uid),
    onSuccess: refresh,
  })
  const problem = error ?? create.error ?? remove.error
  return (
    <section aria-labelledby="identities" className="mt-10 grid gap-4">
      <h2 id="identities" className="m-0 font-semibold text-base">
        Identities
      </h2>
      <p className="m-0 max-w-2xl text-sm text-soft">
        Service accounts that runs are executed as. <code>runyard identity</code> gives them a prompt, an
        environment, a model and skills of their own.
      </p>
      {may_administer ? (
        <form
          className="grid items-end gap-3 sm:grid-cols-[2fr_auto_1fr]"
          onSubmit={(event) => {
            event.preventDefault()
            create.mutate()
          }}
        >
          <TextField
            label="Name"
            required
            maxLength={256}
            value={name}
            onText={setName}
            placeholder="reviewer"
          />
          <Button type="submit" className="min-h-10" disabled={create.isPending || !name.trim()}>
            Create an identity
          </Button>
        </form>
      ) : null}
      {problem ? <Problem error={problem} /> : null}
      {data && data.length > 0 ? (
        <Rows label="Identities">
          {data.map(({ uid, name, description, available, base_model }) => (
            <li key={uid} className="flex flex-wrap items-center gap-x-4 gap-y-1 py-3 text-sm">
              <span className="min-w-0 flex-1">
                <span className="font-medium text-base">{plainText(name)}</span>
                <span className="block text-soft">
                  {plainText(
                    [description, base_model, available ? '' : 'may execute no runs']
                      .filter(Boolean)
                      .join(' · '),
                  )}
                </span>
              </span>
              {may_administer ? (
                <ConfirmButton
                  confirm="Delete the identity"
                  question="Its keys end with it. Its runs stay."
                  is_busy={remove.isPending}
                  onConfirm={() => remove.mutate(uid)}
                >
                  Delete
                </ConfirmButton>
              ) : null}
            </li>
          ))}
        </Rows>
      ) : null}
    </section>
  )
}
