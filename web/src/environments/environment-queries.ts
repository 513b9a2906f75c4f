import type { Environment, Runyard } from '@runyard/client'
import { queryOptions } from '@tanstack/react-query'

/** All environments, to choose from. */
export const environmentsQuery = (client: Runyard) =>
  queryOptions({
    queryKey: ['environments', 'all'],
    queryFn: async ({ signal }) => {
      const environments: Environment[] = []
      for await (const each of client.environments.list({ limit: 500 }, { signal })) environments.push(each)
      return environments
    },
    staleTime: 60_000,
  })
