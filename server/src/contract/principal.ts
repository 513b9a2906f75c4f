import { z } from 'zod'
import { Role } from './actor.ts'
import { PageInfo, paging } from './page-info.ts'
import { Timestamp } from './timestamp.ts'

export const Principal = z
  .object({
    uid: z.string(),
    display_name: z.string(),
    disabled: z.boolean().meta({ description: 'Nothing is done as this person: no key works.' }),
    keys: z.int().meta({
      description:
        'Keys that are neither revoked nor expired. Those of a disabled person work again once the person is enabled.',
    }),
    role: Role.optional().meta({ description: 'The highest of these keys; absent without one.' }),
    last_used_at: Timestamp.optional().meta({
      description: 'When one of the keys was used last, revoked ones included; to the minute.',
    }),
    created_at: Timestamp,
  })
  .meta({ id: 'Principal', description: 'A person. Identities have a list of their own.' })
export type Principal = z.infer<typeof Principal>

export const ListPrincipalsQuery = z.object(paging(100))
export type ListPrincipalsQuery = z.infer<typeof ListPrincipalsQuery>

export const ListPrincipalsResponse = z
  .object({ principals: z.array(Principal), page_info: PageInfo })
  .meta({ id: 'ListPrincipalsResponse' })
