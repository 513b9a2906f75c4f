import type { Principal, Runyard } from '@runyard/client'
import { queryOptions } from '@tanstack/react-query'

/** The first part of the key of all lists of people. */
export const PEOPLE = 'principals'

/** More than a list to choose from can show. */
const MOST_OFFERED = 1_000

/** People who may have keys, by name. For admins. */
export const peopleQuery = (client: Runyard) =>
  queryOptions({
    queryKey: [PEOPLE, 'enabled'],
    queryFn: async ({ signal }) => {
      const people: Principal[] = []
      for await (const person of client.principals.list({ limit: 500 }, { signal })) {
        if (!person.disabled) people.push(person)
        if (people.length >= MOST_OFFERED) break
      }
      return people.sort((one, other) => one.display_name.localeCompare(other.display_name))
    },
  })
