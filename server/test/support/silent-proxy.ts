import { connect, createServer, type Socket } from 'node:net'

export interface SilentProxy {
  url: string
  /** From now on nothing passes, neither way, and nobody is told: what a network does that drops packets. */
  silence(): void
  /** New connections pass again. Those of before stay silent for ever, as those do whose other end has gone. */
  heal(): void
  /**
   * Calls once, when the server has carried out a statement that matches and before its answer goes back. The answer is
   * lost with the connection when it returns `silence`.
   */
  when(statement: RegExp, call: () => unknown): void
  close(): void
}

/** A way to PostgreSQL that can fall silent. */
export async function startSilentProxy(database_url: string): Promise<SilentProxy> {
  const target = new URL(database_url)
  const sockets = new Set<Socket>()
  const waiting = new Set<{ statement: RegExp; call: () => unknown }>()
  let silent = false
  /** Connections of an earlier age are the ones that were silenced. */
  let age = 0
  const server = createServer((client) => {
    const born = age
    let lost = false
    const dead = () => lost || silent || born !== age
    const keep = (socket: Socket) => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    }
    keep(client)
    client.on('error', () => {})
    // Its packets go nowhere.
    if (silent) return void client.resume()
    const upstream = connect(Number(target.port), target.hostname)
    keep(upstream)
    upstream.on('error', () => {})
    let due: (() => unknown) | null = null
    client.on('data', (data) => {
      if (dead()) return
      for (const hook of waiting) {
        if (!hook.statement.test(data.toString('latin1'))) continue
        waiting.delete(hook)
        due = hook.call
        break
      }
      upstream.write(data)
    })
    upstream.on('data', (data) => {
      if (due?.() === 'silence') lost = true
      due = null
      if (!dead()) client.write(data)
    })
    client.on('close', () => dead() || upstream.destroy())
    upstream.on('close', () => dead() || client.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('The proxy has no port.')
  const url = new URL(database_url)
  url.port = String(address.port)
  return {
    url: url.href,
    silence() {
      silent = true
    },
    heal() {
      silent = false
      age += 1
    },
    when: (statement, call) => void waiting.add({ statement, call }),
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
