import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import type { Services } from '../context.ts'
import { API_PREFIX, sendJson } from '../route.ts'

export function serveHealth(app: FastifyInstance, services: Services): void {
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
    const body = await describeApi(encoding ?? 'identity')
    if (encoding) reply.header('content-encoding', encoding)
    return reply.send(body)
  })
}

/** A tenth of the size within milliseconds; the best quality takes more than a second. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }
const ENCODERS = {
  identity: async (text: Buffer) => text,
  br: (text: Buffer) => promisify(brotliCompress)(text, BROTLI),
  gzip: (text: Buffer) => promisify(gzip)(text),
}
type Encoding = keyof typeof ENCODERS

/** `openapi.json`, read and compressed when somebody first asks, since most who start a service never do. */
const described: Partial<Record<Encoding, Promise<Buffer>>> = {}
const describeApi = (encoding: Encoding): Promise<Buffer> =>
  (described[encoding] ??= readFile(new URL('../../../../openapi.json', import.meta.url))
    .then(ENCODERS[encoding])
    .catch((error: unknown) => {
      delete described[encoding]
      throw error
    }))

const chooseEncoding = (accepted: string | string[] | undefined): 'br' | 'gzip' | undefined =>
  (['br', 'gzip'] as const).find((name) =>
    new RegExp(`\\b${name}\\b(?!\\s*;\\s*q=0(?:\\.0*)?\\s*(?:,|$))`).test(String(accepted)),
  )
