import type { MergeMethod, PullRequestItem } from '@runyard/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { ConfirmButton } from '../ui/confirm-button.tsx'
import { Problem } from '../ui/problem.tsx'
import { pullsQuery } from './run-queries.ts'

const METHODS: Record<MergeMethod, (branch: string, base: string) => string> = {
  squash: (branch, base) => `All of ${branch} becomes one commit on ${base}.`,
  merge: (branch, base) => `A merge commit brings ${branch} into ${base}.`,
  rebase: (branch, base) => `The commits of ${branch} are put on top of ${base}.`,
}

/** Merges what the page shows: where somebody has pushed since, or it goes into another branch, the service refuses. */
export function MergeButton({ run_id, pull }: { run_id: string; pull: PullRequestItem }) {
  const { client } = useAccess()
  const queries = useQueryClient()
  const { url, branch, base, head_commit, merge_method, mergeable } = pull
  const merge = useMutation({
    mutationFn: () => client.runs.merge(run_id, { url, commit: head_commit, base }),
    onSettled: () => queries.invalidateQueries({ queryKey: pullsQuery(client, run_id).queryKey }),
  })
  // A newer service may know more methods.
  const explained = merge_method && METHODS[merge_method]?.(plainText(branch), plainText(base ?? ''))
  return (
    <>
      <ConfirmButton
        kind="primary"
        deed="primary"
        confirm="Merge it"
        question={[explained, 'The branch stays, unless its host deletes what is merged.']
          .filter(Boolean)
          .join(' ')}
        is_busy={merge.isPending || mergeable === false}
        onConfirm={() => merge.mutate()}
      >
        {merge.isPending ? 'Merging…' : 'Merge'}
      </ConfirmButton>
      {merge.error ? (
        <div className="w-full">
          <Problem error={merge.error} />
        </div>
      ) : null}
    </>
  )
}
