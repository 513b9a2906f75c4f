import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface PathProxy extends AsyncDisposable {
  /** Where the service is to be found, without a slash at the end. */
  url: string
  /** Paths outside of its own that were asked for. */
  missed: string[]
}

/** A proxy that serves a service of this machine below a path, and does not pass that path on. */
export async function startPathProxy(target_port: number, path: string): Promise<PathProxy> {
  const missed: string[] = []
  const server = createServer((incoming, answer) => {
    const { url = '', method, headers } = incoming
    if (!url.startsWith(`${path}/`)) {
      missed.push(url)
      answer.writeHead(404).end()
      return
    }
    const options = { host: '127.0.0.1', port: target_port, path: url.slice(path.length), method, headers }
    const outgoing = request(options, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers)
      response.pipe(answer)
    })
    outgoing.once('error', () => answer.destroy())
    answer.once('close', () => outgoing.destroy())
    incoming.pipe(outgoing)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}${path}`,
    missed,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
