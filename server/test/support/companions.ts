/** What stands beside the workers of services in this process, and would be a process for each of them: 0.2 s of CPU. */
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Gateway } from '../../src/gateway/gateway.ts'
import { openGateway } from '../../src/gateway/open-gateway.ts'
import type { Companions } from '../../src/work.ts'
import { runWarden } from '../../src/worker/warden.ts'

const GATEWAY = fileURLToPath(new URL('../../src/gateway-process.ts', import.meta.url))
/** How long the gateway stays without a service: the next one may come soon. */
const LINGER_MS = 1_000

/** Takes what the gateway says of itself, which may be about any of the services. */
type Say = (fields: object, message: string) => void

let gateway: Gateway | undefined
let lingering: NodeJS.Timeout | undefined
const users = new Set<Say>()

/** One gateway for all services that are running. `leave` when the service has stopped. */
export function shareGateway(say: Say): { gateway: Gateway; leave(): void } {
  clearTimeout(lingering)
  const tell: Say = (fields, message) => {
    for (const said of users) said(fields, message)
  }
  gateway ??= openGateway(GATEWAY, { error: tell, warn: tell })
  users.add(say)
  return {
    gateway,
    leave() {
      users.delete(say)
      if (users.size > 0) return
      lingering = setTimeout(() => {
        const last = gateway
        gateway = undefined
        last?.close().catch(() => {})
      }, LINGER_MS)
    },
  }
}

/** The warden, reading the same lines as the process does. */
export const startWarden: NonNullable<Companions['startWarden']> = (backend) => {
  const input = new PassThrough()
  const ended = runWarden(backend, { input, output: new PassThrough().resume() }, { deadline: false })
  const send = (line: object) => input.write(`${JSON.stringify(line)}\n`)
  return {
    watch: (ref) => send({ watch: ref }),
    unwatch: (ref) => send({ unwatch: ref }),
    async close() {
      input.end()
      await ended
    },
  }
}
