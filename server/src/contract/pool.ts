import { z } from 'zod'
import { PageInfo, paging } from './page-info.ts'

export const PoolName = z
  .string()
  .max(128)
  .trim()
  .regex(/^[A-Za-z0-9._-]*$/, 'must be made of A-Z, a-z, 0-9, ".", "_", "-"')

export const Pool = z
  .object({
    name: z.string().meta({ description: 'What `config.worker_host` of a run says.' }),
    is_default: z.boolean().meta({ description: 'Of runs whose configuration names none.' }),
    restricted: z.boolean().meta({ description: 'Only those who have a grant, and admins, may use it.' }),
    workers: z.int().meta({ description: 'Those that are alive.' }),
    workers_ready: z.int().meta({
      description: 'Those of them that take runs: neither stopping nor short of disk space.',
    }),
    slots: z.int().meta({ description: 'Runs that the ready ones may hold at once.' }),
    slots_busy: z.int().meta({ description: 'Runs that workers of the pool hold.' }),
    queued_runs: z.int().meta({ description: 'Runs that wait for a worker of it, whoever’s they are.' }),
  })
  .meta({ id: 'Pool', description: 'Workers that take the same runs.' })
export type Pool = z.infer<typeof Pool>

export const ListPoolsQuery = z.object(paging(100))
export type ListPoolsQuery = z.infer<typeof ListPoolsQuery>

export const ListPoolsResponse = z
  .object({ pools: z.array(Pool), page_info: PageInfo })
  .meta({ id: 'ListPoolsResponse' })
