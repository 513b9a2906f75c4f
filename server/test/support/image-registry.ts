import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ImageRegistry {
  /** `127.0.0.1:PORT`; engines take that without TLS. */
  host: string
  /** Of its one image, `acme/tool:1`. */
  digest: string
  /** The `Authorization` of each request, where there was one. */
  authorizations: string[]
  close(): void
}

const MANIFEST = 'application/vnd.docker.distribution.manifest.v2+json'
const CONFIG = 'application/vnd.docker.container.image.v1+json'
const LAYER = 'application/vnd.docker.image.rootfs.diff.tar'

/**
 * A registry with one image of an empty layer, which no other registry has; `login` (`USER:PASSWORD`) closes it to others.
 */
export async function startImageRegistry(login?: string): Promise<ImageRegistry> {
  const layer = Buffer.alloc(1024)
  const config = Buffer.from(
    JSON.stringify({
      architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
      os: 'linux',
      config: { Labels: { unique: randomUUID() } },
      rootfs: { type: 'layers', diff_ids: [digestOf(layer)] },
      history: [{ created: '2026-01-01T00:00:00Z' }],
    }),
  )
  const part = (mediaType: string, data: Buffer) => ({ mediaType, size: data.length, digest: digestOf(data) })
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MANIFEST,
      config: part(CONFIG, config),
      layers: [part(LAYER, layer)],
    }),
  )
  const blobs = new Map([layer, config].map((data) => [digestOf(data), data]))
  const authorizations: string[] = []
  const answer = ({ url = '', method, headers }: IncomingMessage, response: ServerResponse) => {
    if (headers.authorization) authorizations.push(headers.authorization)
    const wanted = login && `Basic ${Buffer.from(login).toString('base64')}`
    if (wanted && headers.authorization !== wanted) {
      response.writeHead(401, {
        'www-authenticate': 'Basic realm="test"',
        'content-type': 'application/json',
      })
      // It quotes what it was sent.
      const { authorization = '' } = headers
      const [, sent = ''] = authorization.split(' ')
      const message = `who are you? ${authorization} ${Buffer.from(sent, 'base64')}`
      return response.end(JSON.stringify({ errors: [{ code: 'UNAUTHORIZED', message }] }))
    }
    const found = url === '/v2/' ? Buffer.from('{}') : find(url)
    if (!found) return response.writeHead(404).end()
    const type = url.includes('/manifests/') ? MANIFEST : 'application/octet-stream'
    const describe = { 'content-length': found.length, 'docker-content-digest': digestOf(found) }
    response.writeHead(200, { 'content-type': type, ...describe })
    return response.end(method === 'HEAD' ? undefined : found)
  }
  const find = (url: string): Buffer | undefined => {
    const [, kind, reference = ''] = /^\/v2\/acme\/tool\/(manifests|blobs)\/(.+)$/.exec(url) ?? []
    if (kind === 'blobs') return blobs.get(reference)
    return reference === '1' || reference === digestOf(manifest) ? manifest : undefined
  }
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    digest: digestOf(manifest),
    authorizations,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

const digestOf = (data: Buffer): string => `sha256:${createHash('sha256').update(data).digest('hex')}`
