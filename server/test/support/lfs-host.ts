/** A stand-in for Git LFS: the questions at the git host, the storage on an address of its own that knows no credential of git. */
import { createHash, randomUUID } from 'node:crypto'
import { type IncomingMessage, type ServerResponse, createServer as servePlain } from 'node:http'
import { createServer as serveTls } from 'node:https'
import type { AddressInfo } from 'node:net'
import { buffer, json } from 'node:stream/consumers'
import type { makeCertificate } from './certificate.ts'
import { addressOfHost } from './host-address.ts'

interface Asked {
  operation: 'download' | 'upload'
  transfers?: string[]
  objects: Array<{ oid: string; size: number }>
}

export interface LfsHost {
  /** What is stored, by SHA-256. */
  objects: Map<string, Buffer>
  /** `address:port` of the storage. */
  storage: string
  /** What came to the storage, and the questions. */
  requests: Array<{ method: string; path: string; headers: IncomingMessage['headers'] }>
  asked: Asked[]
  /** Objects that were said to be whole. */
  verified: string[]
  /** In place of the storage's address in every href; `undefined`: as it is. */
  lead?: ((href: string) => string) | undefined
  /** Downloads are sent on from here, as GitLab does. */
  redirects: boolean
  /** Answers `POST …/info/lfs/objects/batch`, whose credential was checked. */
  answer(incoming: IncomingMessage, response: ServerResponse, url: string): Promise<void>
  close(): void
}

const MIME = 'application/vnd.git-lfs+json'

export async function serveLfs(certificate: ReturnType<typeof makeCertificate>): Promise<LfsHost> {
  const { key, cert } = certificate
  /** What lets in whoever has it, as a signed address of S3 does. */
  const pass = randomUUID()
  const host: Omit<LfsHost, 'storage' | 'answer' | 'close'> = {
    ...{ objects: new Map<string, Buffer>(), requests: [], asked: [], verified: [], redirects: false },
  }
  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url = '', headers } = incoming
    host.requests.push({ method, path: url, headers })
    const oid = /^\/objects\/([0-9a-f]{64})\?/.exec(url)?.[1] ?? ''
    const may = url.endsWith(`?signature=${pass}`) && headers['x-signed'] === pass
    if (!may && !(host.redirects && url.endsWith(`?signature=${pass}&again`))) {
      incoming.resume()
      return void response.writeHead(403).end()
    }
    if (method === 'GET' && host.redirects && may)
      return void response.writeHead(302, { location: `${url}&again` }).end()
    if (method === 'PUT') {
      const body = await buffer(incoming)
      const is_whole = createHash('sha256').update(body).digest('hex') === oid
      if (is_whole) host.objects.set(oid, body)
      return void response.writeHead(is_whole ? 200 : 400).end()
    }
    const found = host.objects.get(oid)
    if (!found) return void response.writeHead(404).end()
    const from = Number(/^bytes=(\d+)-/.exec(headers.range ?? '')?.[1] ?? 0)
    const rest = found.subarray(from)
    response
      .writeHead(from ? 206 : 200, {
        'content-length': rest.length,
        ...(from ? { 'content-range': `bytes ${from}-${found.length - 1}/${found.length}` } : {}),
      })
      .end(rest)
  }
  const server = serveTls({ key, cert }, (incoming, response) => {
    serve(incoming, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, addressOfHost(), resolve))
  const storage = `${addressOfHost()}:${(server.address() as AddressInfo).port}`

  const answer = async (incoming: IncomingMessage, response: ServerResponse, url: string): Promise<void> => {
    if (url.includes('/verify')) {
      const { oid } = (await json(incoming)) as { oid: string }
      host.verified.push(oid)
      return void response.writeHead(host.objects.has(oid) ? 200 : 404, { 'content-type': MIME }).end('{}')
    }
    const asked = (await json(incoming)) as Asked
    host.asked.push(asked)
    const objects = asked.objects.map(({ oid, size }) => {
      const there = host.objects.has(oid)
      if (asked.operation === 'download' && !there)
        return { oid, size, error: { code: 404, message: 'The object is not here.' } }
      if (asked.operation === 'upload' && there) return { oid, size }
      const href = `https://${storage}/objects/${oid}?signature=${pass}`
      const action = { href: host.lead?.(href) ?? href, header: { 'X-Signed': pass }, expires_in: 600 }
      // As with GitHub: what is of the repository is asked at the host, with what the answer says to send there.
      const verify = { href: url.replace('objects/batch', 'verify'), header: {} }
      return {
        oid,
        size,
        actions: { [asked.operation]: action, ...(asked.operation === 'upload' ? { verify } : {}) },
      }
    })
    response.writeHead(200, { 'content-type': MIME }).end(JSON.stringify({ transfer: 'basic', objects }))
  }
  return Object.assign(host, {
    ...{ storage, answer },
    close() {
      server.close()
      server.closeAllConnections()
    },
  })
}

/** A server of this machine that must never be asked, by plain HTTP on its loopback. */
export async function serveForbidden(): Promise<{ url: string; asked: () => number; close(): void }> {
  let asked = 0
  const server = servePlain((_incoming, response) => {
    asked += 1
    response.end('secret of this machine')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    asked: () => asked,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** What stands in a repository for a file of LFS. */
export const pointerOf = (content: Buffer): string =>
  `version https://git-lfs.github.com/spec/v1\noid sha256:${createHash('sha256').update(content).digest('hex')}\nsize ${content.length}\n`
