import type { Runyard } from '@runyard/client'
import { queryOptions } from '@tanstack/react-query'
import { readArtifact } from '../artifact-link.ts'

/** What is kept of one run. */
export const runQuery = (client: Runyard, run_id: string) =>
  queryOptions({
    queryKey: ['run', run_id],
    queryFn: ({ signal }) => client.runs.retrieve(run_id, { signal }),
  })

/** What the run changed: files and counts, of its newest turn or an earlier one. */
export const diffQuery = (client: Runyard, run_id: string, turn: number | undefined) =>
  queryOptions({
    queryKey: ['run', run_id, 'diff', turn ?? 'newest'],
    queryFn: ({ signal }) => client.runs.diff(run_id, turn === undefined ? {} : { turn }, { signal }),
  })

/** The patch itself. Artifacts never change. */
export const patchQuery = (client: Runyard, artifact_uid: string) =>
  queryOptions({
    queryKey: ['patch', artifact_uid],
    queryFn: async ({ signal }) => (await readArtifact(client, artifact_uid, signal)).text(),
    staleTime: Number.POSITIVE_INFINITY,
  })
