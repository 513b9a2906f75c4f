import { isIP, type Socket } from 'node:net'
import { getExtensionData, readTlsClientHello } from 'read-tls-client-hello'
import { Refused } from './dial.ts'
import type { Target } from './egress-rules.ts'

const HELLO_MS = 15_000
/** The first byte of TLS (RFC 8446 §5.1). */
const HANDSHAKE = 0x16

/**
 * Whether the client begins TLS; what it sent stays to be read. Throws `Refused` where it asks for another host than the one
 * that it named (RFC 6066 §3; of an address nobody asks). Who says nothing, or half of it, is not waited for.
 */
export async function asksForTls(client: Socket, target: Target): Promise<boolean> {
  const leave = () => client.destroy()
  const timer = setTimeout(leave, HELLO_MS)
  client.once('end', leave)
  try {
    if ((await peek(client)) !== HANDSHAKE) return false
    const hello = await readTlsClientHello(client)
    const asked = getExtensionData(hello, 'sni')?.serverName?.toLowerCase()
    if (asked !== target.host && !(asked === undefined && isIP(target.host)))
      throw new Refused(target, 'server_name')
    return true
  } finally {
    clearTimeout(timer)
    client.off('end', leave)
  }
}

/** The first byte that the client sends. Rejects when it goes without one. */
function peek(client: Socket): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const data: Buffer | null = client.read()
      if (data === null) return
      client.off('readable', look)
      client.off('close', reject)
      client.unshift(data)
      resolve(data[0])
    }
    client.on('readable', look)
    client.once('close', reject)
    look()
  })
}
