import type { Runyard } from '@runyard/client'
import { queryOptions } from '@tanstack/react-query'

/** All identities, by name: there are at most 500. Long prompts are cut. */
export const identitiesQuery = (client: Runyard) =>
  queryOptions({
    queryKey: ['identities', 'list'],
    queryFn: async ({ signal }) => (await client.identities.list({}, { signal })).agents,
  })

/** One identity, with its whole prompt. */
export const identityQuery = (client: Runyard, uid: string) =>
  queryOptions({
    queryKey: ['identities', uid],
    queryFn: ({ signal }) => client.identities.retrieve(uid, { signal }),
  })
