import { connect, createServer, type Socket } from 'node:net'

export interface FaultyProxy {
  port: number
  /** Connections that were made. */
  connections(): number
  /** Refuses new connections and breaks those that are open, until `comeBack`. */
  goAway(): Promise<void>
  comeBack(): Promise<void>
  /** The next connection that answers with so many bytes is broken there; once for each number. */
  cutAnswersAt(...bytes: number[]): void
  /** The next so many requests are answered with this instead. */
  answerWith(answer: string, times: number): void
  /** Calls this with the beginning of each piece that a client sends, before it goes on. */
  onRequest(listener: (piece: string) => void): void
  close(): Promise<void>
}

/** A way to a server of this machine, whose answers can be cut, replaced and missing. */
export async function startFaultyProxy(target_port: number): Promise<FaultyProxy> {
  const sockets = new Set<Socket>()
  const cuts: number[] = []
  let instead = { answer: '', times: 0 }
  let connections = 0
  let listener: (piece: string) => void = () => {}
  const server = createServer((client) => {
    connections += 1
    const upstream = connect(target_port, '127.0.0.1')
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
      listener(data.toString('latin1', 0, 500))
      if (instead.times === 0) return void upstream.write(data)
      instead.times -= 1
      client.end(instead.answer)
    })
    upstream.on('data', (data) => {
      const [cut] = cuts
      if (cut === undefined || upstream.bytesRead < cut) return void client.write(data)
      cuts.shift()
      const before = upstream.bytesRead - data.length
      client.end(data.subarray(0, Math.max(0, cut - before)), end)
    })
  })
  const listen = (port: number) =>
    new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
  const stop = async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of sockets) socket.destroy()
    await closed
  }
  await listen(0)
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('The proxy has no port.')
  const { port } = address
  return {
    port,
    connections: () => connections,
    goAway: stop,
    comeBack: () => listen(port),
    cutAnswersAt: (...bytes) => void cuts.push(...bytes),
    answerWith(answer, times) {
      instead = { answer, times }
    },
    onRequest(called) {
      listener = called
    },
    close: stop,
  }
}
