import { once } from 'node:events'
import { connect, createServer, type Server } from 'node:net'

/** A port of this machine that leads to a socket, as the one in a sandbox does. */
export async function openBridge(socket: string): Promise<Server> {
  const bridge = createServer((client) => {
    const upstream = connect(socket)
    client.on('error', () => upstream.destroy())
    upstream.on('error', () => client.destroy())
    client.pipe(upstream).pipe(client)
  }).listen(0, '127.0.0.1')
  await once(bridge, 'listening')
  return bridge
}
