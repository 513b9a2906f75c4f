import type { Runyard } from '@runyard/client'
import { queryOptions } from '@tanstack/react-query'
import { readArtifact } from '../artifact-link.ts'
import { parsePatch } from './patch.ts'

const QUEUE_MS = 5_000

/** What is kept of one run. */
export const runQuery = (client: Runyard, run_id: string) =>
  queryOptions({
    queryKey: ['run', run_id],
    queryFn: ({ signal }) => client.runs.retrieve(run_id, { signal }),
    // Its place in the queue is in no event of its own.
    refetchInterval: ({ state: { data } }) => (data?.state === 'QUEUED' ? QUEUE_MS : false),
  })

/** How often runs that go on are asked for: a stream of theirs would take one of the few connections a browser has. */
const CHILDREN_MS = 3_000
const MOST_CHILDREN = 100
const ENDED: readonly string[] = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED']

/** The newest runs that this one created, the first of them first. */
export const childrenQuery = (client: Runyard, run_id: string) =>
  queryOptions({
    queryKey: ['run', run_id, 'children'],
    queryFn: async ({ signal }) => {
      const { runs } = await client.runs.list(
        { ancestor_run_id: run_id, archived: 'all', sort_by: 'created_at', limit: MOST_CHILDREN },
        { signal },
      )
      return runs.filter(({ parent_run_id }) => parent_run_id === run_id).reverse()
    },
    refetchInterval: ({ state: { data } }) =>
      data?.some(({ state }) => !ENDED.includes(state)) ? CHILDREN_MS : false,
  })

/** Hosts are asked again while somebody looks. */
const PULLS_MS = 60_000

/** How the pull requests of the run stand at their hosts. */
export const pullsQuery = (client: Runyard, run_id: string) =>
  queryOptions({
    queryKey: ['run', run_id, 'pull-requests'],
    queryFn: async ({ signal }) => (await client.runs.pullRequests(run_id, { signal })).pull_requests,
    refetchInterval: ({ state: { data } }) =>
      data?.some(({ state }) => state === 'open' || state === 'unknown') ? PULLS_MS : false,
  })

/** What the run changed, after its newest turn: files and counts. */
export const diffQuery = (client: Runyard, run_id: string) =>
  queryOptions({
    queryKey: ['run', run_id, 'diff'],
    queryFn: ({ signal }) => client.runs.diff(run_id, {}, { signal }),
  })

/** What the patch holds of each file. Artifacts never change. */
export const patchQuery = (client: Runyard, artifact_uid: string) =>
  queryOptions({
    queryKey: ['patch', artifact_uid],
    queryFn: async ({ signal }) =>
      parsePatch(await (await readArtifact(client, artifact_uid, { signal })).text()),
    staleTime: Number.POSITIVE_INFINITY,
  })
