import type { Runyard } from '@runyard/client'
import { queryOptions } from '@tanstack/react-query'

/** The first hundred environments, which is all of them nearly everywhere. */
export const environmentsQuery = (client: Runyard) =>
  queryOptions({
    queryKey: ['environments', 'list'],
    queryFn: async ({ signal }) => (await client.environments.list({ limit: 100 }, { signal })).environments,
    staleTime: 60_000,
  })
