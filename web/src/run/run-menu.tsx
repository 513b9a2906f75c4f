import type { RunItem } from '@runyard/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { Archive, ArchiveRestore, FolderTree, Link2, Pencil, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useAccess } from '../client.ts'
import { deleteRun } from '../runs/deletions.ts'
import { ConfirmDialog } from '../ui/confirm-button.tsx'
import { OverflowItem, OverflowMenu } from '../ui/overflow-menu.tsx'
import { RenameDialog } from './rename-dialog.tsx'
import { ANEW } from './run-actions.ts'

/** What there is to do with a run beside what its head shows; on a narrow screen all of it. */
export function RunMenu({
  run,
  is_open,
  is_working,
  onShare,
  onProblem,
}: {
  run: RunItem
  is_open: boolean
  is_working: boolean
  onShare: () => void
  onProblem: (error: Error | null) => void
}) {
  const { client } = useAccess()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const { run_id, archived_at } = run
  const [renames, setRenames] = useState(false)
  const [deletes, setDeletes] = useState(false)
  const archive = useMutation({
    mutationFn: () => (archived_at ? client.runs.unarchive(run_id) : client.runs.archive(run_id)),
    onMutate: () => onProblem(null),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['run', run_id], exact: true }),
    onError: onProblem,
    onSettled: () => queries.invalidateQueries({ queryKey: ['runs'] }),
  })
  const remove = useMutation({
    mutationFn: () => deleteRun(run_id, () => client.runs.delete(run_id, { cancel: true })),
    onMutate: () => onProblem(null),
    onSuccess: async () => {
      // Comments that were not sent have gone with the run.
      await navigate({ to: '/', ignoreBlocker: true })
      // What is still shown would be asked for again.
      queries.removeQueries({ queryKey: ['run', run_id], type: 'inactive' })
      await queries.invalidateQueries({ queryKey: ['runs'] })
    },
    onError: onProblem,
  })
  return (
    <>
      <OverflowMenu label="More to do with this run">
        {is_open
          ? null
          : ANEW.map(({ label, Icon, searchFor }) => (
              <OverflowItem key={label} asChild look="sm:hidden">
                <Link to="/new" search={searchFor(run_id)}>
                  <Icon aria-hidden className="size-4" />
                  {label}
                </Link>
              </OverflowItem>
            ))}
        <OverflowItem look="sm:hidden" onSelect={onShare}>
          <Link2 aria-hidden className="size-4" />
          Share
        </OverflowItem>
        <OverflowItem asChild>
          <Link to="/sessions/$run_id/files" params={{ run_id }}>
            <FolderTree aria-hidden className="size-4" />
            Files
          </Link>
        </OverflowItem>
        <OverflowItem onSelect={() => setRenames(true)}>
          <Pencil aria-hidden className="size-4" />
          Rename
        </OverflowItem>
        {is_working ? null : (
          <OverflowItem disabled={archive.isPending} onSelect={() => archive.mutate()}>
            {archived_at ? (
              <ArchiveRestore aria-hidden className="size-4" />
            ) : (
              <Archive aria-hidden className="size-4" />
            )}
            {archived_at ? 'Unarchive' : 'Archive'}
          </OverflowItem>
        )}
        <OverflowItem disabled={remove.isPending} onSelect={() => setDeletes(true)}>
          <Trash2 aria-hidden className="size-4" />
          {remove.isPending ? 'Deleting…' : 'Delete'}
        </OverflowItem>
      </OverflowMenu>
      <RenameDialog run={run} is_open={renames} onOpen={setRenames} />
      <ConfirmDialog
        is_open={deletes}
        onOpen={setDeletes}
        confirm="Delete the run"
        question={`${is_open ? 'It is cancelled first. ' : ''}Its log, messages, files and share links go for good, and so do the runs below it. Pull requests and pushed branches stay.`}
        onConfirm={() => remove.mutate()}
      />
    </>
  )
}
