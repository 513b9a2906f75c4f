import type { Pool, Runyard } from '@runyard/client'
import { queryOptions } from '@tanstack/react-query'

/** All pools that this person may use, by name. */
export const poolsQuery = (client: Runyard) =>
  queryOptions({
    queryKey: ['pools'],
    queryFn: async ({ signal }) => {
      const pools: Pool[] = []
      for await (const pool of client.pools.list({ limit: 500 }, { signal })) pools.push(pool)
      return pools
    },
    staleTime: 10_000,
  })
