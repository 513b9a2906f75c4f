import type { FastifyInstance } from 'fastify'
import { ROUTES } from '../../contract/routes.ts'
import { readModels } from '../../store/workers.ts'
import type { Services } from '../context.ts'
import { viewModel } from '../model-view.ts'
import { serve } from '../route.ts'

export function serveModels(app: FastifyInstance, services: Services): void {
  serve(app, services, ROUTES.listModels, async () => {
    const { models, default_model_id } = await readModels(services.store.db)
    return { models: models.map(viewModel), default_model_id: default_model_id ?? '' }
  })
}
