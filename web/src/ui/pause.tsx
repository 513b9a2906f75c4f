import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Button } from './button.tsx'
import { queryKeyOf } from './kinds.ts'

/** What stops something that starts runs for a while, and lets it go on. */
export function usePause(
  kind: 'schedule' | 'trigger',
  enabled: boolean,
  { pause, resume }: { pause: () => Promise<unknown>; resume: () => Promise<unknown> },
) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: enabled ? pause : resume,
    onSuccess: () => queries.invalidateQueries({ queryKey: queryKeyOf(kind) }),
  })
}

export function PauseButton({ enabled, turn }: { enabled: boolean; turn: ReturnType<typeof usePause> }) {
  return (
    <Button disabled={turn.isPending} onClick={() => turn.mutate()}>
      {enabled ? 'Pause' : 'Resume'}
    </Button>
  )
}
