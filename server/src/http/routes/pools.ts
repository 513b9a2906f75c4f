import type { FastifyInstance } from 'fastify'
import { pageInfo } from '../../contract/page-info.ts'
import { ROUTES } from '../../contract/routes.ts'
import { listPools } from '../../store/pools.ts'
import type { Services } from '../context.ts'
import { serve } from '../route.ts'

export function servePools(app: FastifyInstance, services: Services): void {
  const { store, settings } = services

  serve(app, services, ROUTES.listPools, async ({ query, actor }) => {
    const { pools, next_cursor } = await listPools(store.db, query, actor, settings.default_pool)
    return { pools, page_info: pageInfo(next_cursor) }
  })
}
