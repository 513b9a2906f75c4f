import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { ConfirmButton } from './confirm-button.tsx'
import { KINDS, type Kind, queryKeyOf } from './kinds.ts'

/** The deletion of what a page shows: it leads to the list, which is read again. */
export function useRemoval(kind: Kind, remove: () => Promise<unknown>) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  return useMutation({
    mutationFn: remove,
    onSuccess: async () => {
      await navigate({ to: KINDS[kind].to })
      await queries.invalidateQueries({ queryKey: queryKeyOf(kind) })
    },
  })
}

export function RemoveButton({
  kind,
  consequence,
  removal,
}: {
  kind: Kind
  /** What goes with it and what stays. */
  consequence: string
  removal: ReturnType<typeof useRemoval>
}) {
  return (
    <ConfirmButton
      confirm={`Delete the ${kind}`}
      question={consequence}
      is_busy={removal.isPending}
      onConfirm={() => removal.mutate()}
    >
      Delete
    </ConfirmButton>
  )
}
