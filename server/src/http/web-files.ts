import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { PAGE_HEADERS } from './page.ts'

/** What `scripts/build-web.ts` makes of `web`. */
export const WEB_ROOT = new URL('../../../web/dist/', import.meta.url)
/** Named by what they hold: `index-CP3t27Hx.css`. */
const NAMED_BY_CONTENT = /-[\w-]{8}\.(?:js|css)$/

/** Serves what pages are made of, below `/assets/`: compressed where the browser takes it, and kept where the name says what it holds. */
export function serveWebFiles(app: FastifyInstance): void {
  app.register(fastifyStatic, {
    index: false,
    decorateReply: false,
    cacheControl: false,
    setHeaders,
    root: fileURLToPath(new URL('assets/', WEB_ROOT)),
    prefix: '/assets/',
    preCompressed: true,
    allowedPath: (path) => /\.(css|js|svg)$/.test(path),
  })
}

const { 'content-type': _, ...FILE_HEADERS } = PAGE_HEADERS
const setHeaders = (reply: FastifyReply, path: string): void => {
  reply.headers(FILE_HEADERS)
  if (NAMED_BY_CONTENT.test(path.replace(/\.(?:br|gz)$/, '')))
    reply.header('cache-control', 'public, max-age=31536000, immutable')
}
