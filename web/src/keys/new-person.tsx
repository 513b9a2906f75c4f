import type { SignInLink } from '@runyard/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { Button } from '../ui/button.tsx'
import { CopyBlock } from '../ui/copy-block.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { Problem } from '../ui/problem.tsx'
import { ROLES } from './new-key.tsx'

/** Adds a person, who is somebody else than who adds them: runs, secrets and keys are their own. */
export function NewPerson() {
  const { client } = useAccess()
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [role, setRole] = useState<keyof typeof ROLES>('member')
  const add = useMutation({
    mutationFn: async () => {
      const made = await client.apiKeys.create({ name: name.trim(), role, new_user: true })
      const link = await client.signInLinks.create({ principal_id: made.principal.uid })
      return { name: name.trim(), link }
    },
    onSuccess: () => setName(''),
    // The person may be there although the link could not be made.
    onSettled: () => queries.invalidateQueries(),
  })
  return (
    <form
      aria-label="Add person"
      className="grid gap-3"
      onSubmit={(event) => {
        event.preventDefault()
        add.mutate()
      }}
    >
      <div className="grid items-end gap-3 sm:grid-cols-[2fr_1fr_auto]">
        <TextField
          label="Name"
          required
          maxLength={256}
          value={name}
          onText={setName}
          placeholder="Ada Lovelace"
        />
        <SelectField label="Role" value={role} onText={(text) => setRole(text as keyof typeof ROLES)}>
          {Object.entries(ROLES).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectField>
        <Button type="submit" kind="primary" className="min-h-10" disabled={add.isPending || !name.trim()}>
          Add person
        </Button>
      </div>
      {add.error ? <Problem error={add.error} /> : null}
      {add.data ? <ShownLink {...add.data} /> : null}
    </form>
  )
}

/** A link that signs somebody in. */
export const ShownLink = ({ name, link }: { name: string; link: SignInLink }) => (
  <div role="status">
    <p className="m-0 mb-1 text-sm text-soft">
      Send this link to {plainText(name)}. It signs in once, within 24 hours, and is not shown again.
    </p>
    <CopyBlock text={link.url} label="Copy link" />
  </div>
)
