import type { AgentIdentity, Runyard } from '@runyard/client'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { useAccess } from '../client.ts'
import { sessionQuery } from '../shell/session.ts'

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

/** Those whose grants are looked through. What is beyond is offered as it is: the service says no where it has to. */
const MOST_ASKED = 50

/** All identities, and those that this person may have runs executed as: of an admin all, else their own and those they were granted. */
export function useIdentityChoices(): { all: AgentIdentity[]; usable: AgentIdentity[] } {
  const { client, may_administer } = useAccess()
  const { data: session } = useQuery(sessionQuery)
  const uid = session?.principal.uid
  const { data = { all: [], usable: [] } } = useQuery({
    queryKey: ['identities', 'usable', may_administer, uid],
    queryFn: async ({ signal }) => {
      const { agents: all } = await client.identities.list({}, { signal })
      const offered = all.filter(({ available }) => available)
      if (may_administer) return { all, usable: offered }
      const others = offered.filter(({ creator }) => creator.uid !== uid).slice(0, MOST_ASKED)
      const refused = await Promise.all(
        others.map(async (identity) => {
          const asked = { resource_type: 'identity', resource_id: identity.uid } as const
          const { grants } = await client.grants.get(asked, { signal })
          return grants.some(({ principal }) => principal.uid === uid) ? null : identity
        }),
      )
      return { all, usable: offered.filter((identity) => !refused.includes(identity)) }
    },
    staleTime: 60_000,
  })
  return data
}
