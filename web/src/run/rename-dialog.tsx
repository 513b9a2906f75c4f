import type { RunItem } from '@runyard/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Dialog } from 'radix-ui'
import { useState } from 'react'
import { useAccess } from '../client.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { Problem } from '../ui/problem.tsx'

/** Gives a run another title. */
export const RenameDialog = ({
  run,
  is_open,
  onOpen,
}: {
  run: RunItem
  is_open: boolean
  onOpen: (is_open: boolean) => void
}) => (
  <Dialog.Root open={is_open} onOpenChange={onOpen}>
    <Dialog.Portal>
      <Dialog.Overlay className="fixed inset-0 z-20 bg-scrim" />
      <Dialog.Content
        aria-describedby={undefined}
        className="-translate-x-1/2 -translate-y-1/2 fixed top-1/2 left-1/2 z-20 w-[min(32rem,calc(100vw-2rem))] rounded-2xl border border-line bg-raised p-5 shadow-xl"
      >
        <Dialog.Title className="m-0 mb-4 font-semibold text-base">Rename this run</Dialog.Title>
        <Form run={run} onDone={() => onOpen(false)} />
      </Dialog.Content>
    </Dialog.Portal>
  </Dialog.Root>
)

function Form({ run: { run_id, title: before }, onDone }: { run: RunItem; onDone: () => void }) {
  const { client } = useAccess()
  const queries = useQueryClient()
  const [title, setTitle] = useState(before)
  const save = useMutation({
    mutationFn: () => client.runs.update(run_id, { title: title.trim() }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['run', run_id], exact: true })
      await queries.invalidateQueries({ queryKey: ['runs'] })
      onDone()
    },
  })
  return (
    <form
      className="grid gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        save.mutate()
      }}
    >
      <TextField label="Title" required maxLength={512} value={title} onText={setTitle} />
      {save.error ? <Problem error={save.error} /> : null}
      <div className="flex justify-end gap-2">
        <Dialog.Close className={buttonClass()}>Cancel</Dialog.Close>
        <Button kind="primary" type="submit" disabled={save.isPending || title.trim() === ''}>
          Save
        </Button>
      </div>
    </form>
  )
}
