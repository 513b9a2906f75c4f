import { readFileSync } from 'node:fs'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import type { Services } from '../context.ts'
import { API_PREFIX, sendJson } from '../route.ts'

export function serveHealth(app: FastifyInstance, services: Services): void {
  const openapi = readFileSync(new URL('../../../../openapi.json', import.meta.url))
  const encodings = { br: brotliCompressSync(openapi, BROTLI), gzip: gzipSync(openapi) }
  app.get('/healthz', async (_request, reply) =>
    sendJson(reply, 200, { status: 'ok', version: services.settings.version }),
  )
  app.get('/readyz', async (_request, reply) => {
    const readiness = await services.readiness()
    return sendJson(reply, readiness.ready ? 200 : 503, readiness)
  })
  app.get(`${API_PREFIX}/openapi.json`, async (request, reply) => {
    reply.headers({ 'content-type': 'application/json; charset=utf-8', vary: 'accept-encoding' })
    const encoding = chooseEncoding(request.headers['accept-encoding'])
    return encoding
      ? reply.header('content-encoding', encoding).send(encodings[encoding])
      : reply.send(openapi)
  })
}

/** A tenth of the size within milliseconds; the best quality takes more than a second of each start. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }

const chooseEncoding = (accepted: string | string[] | undefined): 'br' | 'gzip' | undefined =>
  (['br', 'gzip'] as const).find((name) =>
    new RegExp(`\\b${name}\\b(?!\\s*;\\s*q=0(?:\\.0*)?\\s*(?:,|$))`).test(String(accepted)),
  )
