import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { PAGE_HEADERS } from './page.ts'

export const WEB_ROOT = new URL('../../../web/', import.meta.url)
const SWAGGER_UI = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))

/** Serves what pages are made of, revalidated with an ETag at each use: `/assets/` from `web/`, Swagger UI beside it. */
export function serveWebFiles(app: FastifyInstance): void {
  const common = { index: false, decorateReply: false, cacheControl: false, setHeaders } as const
  app.register(fastifyStatic, {
    ...common,
    root: fileURLToPath(WEB_ROOT),
    prefix: '/assets/',
    allowedPath: (path) => /\.(css|js|svg)$/.test(path),
  })
  app.register(fastifyStatic, {
    ...common,
    root: SWAGGER_UI,
    prefix: '/assets/swagger-ui/',
    allowedPath: (path) => ['/swagger-ui.css', '/swagger-ui-bundle.js'].includes(path),
  })
}

const { 'content-type': _, ...FILE_HEADERS } = PAGE_HEADERS
const setHeaders = (reply: FastifyReply): void => {
  reply.headers(FILE_HEADERS)
}
