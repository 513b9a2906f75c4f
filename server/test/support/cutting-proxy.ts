import { connect, createServer, type Socket } from 'node:net'

/**
 * A way to PostgreSQL that loses answers: when a statement matches one of `cuts`, it reaches the server and is carried out,
 * and the connection breaks before the client hears of it. Each of them once, in whatever order they come.
 */
export async function startCuttingProxy(
  database_url: string,
  cuts: readonly RegExp[],
): Promise<{ url: string; left(): RegExp[]; close(): void }> {
  const target = new URL(database_url)
  const left = new Set(cuts)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    let cutting = false
    const end = () => {
      client.destroy()
      upstream.destroy()
      sockets.delete(client)
      sockets.delete(upstream)
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', end).on('close', end)
    }
    client.on('data', (data) => {
      const text = data.toString('latin1')
      for (const cut of left) {
        if (!cut.test(text)) continue
        left.delete(cut)
        cutting = true
        break
      }
      upstream.write(data)
    })
    upstream.on('data', (data) => {
      // The server answers a statement when it has committed it.
      if (cutting) end()
      else client.write(data)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('The proxy has no port.')
  const url = new URL(database_url)
  url.port = String(address.port)
  return {
    url: url.href,
    left: () => [...left],
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
