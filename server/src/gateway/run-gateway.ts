import { rmSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { getCACertificates } from 'node:tls'
import { watchEventLoop, workFor } from '../watchdog/event-loop.ts'
import type { ModelCall, ModelUsage, Refusal } from './gateway.ts'
import { type GatewayArguments, GONE, type News, type Order, writeMessage } from './gateway-pipe.ts'
import { showLife } from './gateway-place.ts'
import { openWay, type Way } from './way.ts'

/** What is still at work at the end of a turn gets so long. */
const SETTLE_MS = 1_000

/** The gateway's side. Resolves when its input has ended. */
export async function runGateway(
  place: GatewayArguments,
  { input, output }: { input: Readable; output: Writable },
): Promise<void> {
  const { directory, uid } = place
  process.umask(0o077)
  if (uid !== null) {
    // Its own user may not write there.
    flushCompileCache()
    // Node reads the file of NODE_EXTRA_CA_CERTS beside all else, and perhaps only after this: others may not be let in there.
    getCACertificates('extra')
    process.setgroups?.([])
    process.setgid?.(uid)
    process.setuid?.(uid)
  }
  showLife(place)
  const ways = new Map<string, Way>()
  const say = (news: Partial<News>) => output.write(writeMessage(news))
  output.on('error', () => {})
  // Loading code is nobody's fault; only what can be named is worth a line.
  watchEventLoop((blocked) => blocked.work && say({ blocked }))
  for await (const line of createInterface({ input })) {
    const order = JSON.parse(line) as Order
    if ('close' in order) {
      ways.get(order.close)?.close()
      ways.delete(order.close)
    } else if ('limit' in order) {
      ways.get(order.limit)?.limit(order.tokens_left)
    } else if ('publish' in order) {
      const { publish: published, by, request } = order
      const asking = ways.get(by)?.publish(request) ?? Promise.resolve(GONE)
      asking.then((answer) => say({ published, answer, by }))
    } else if ('settle' in order) {
      const idle = ways.get(order.settle)?.idle()
      Promise.race([idle, wait(SETTLE_MS)]).then(() => say({ settled: order.settle }))
    } else {
      const { open: id, rules } = order
      try {
        const models = {
          onUsed: (used: ModelUsage) => say({ used, by: id }),
          onCall: (called: ModelCall) => say({ called, by: id }),
        }
        const onRefusal = (refused: Refusal) => say({ refused, by: id })
        const open = () => openWay(join(directory, id), rules, onRefusal, models)
        const { run_id } = rules
        ways.set(id, await (run_id === undefined ? open() : workFor({ kind: 'run', run_id }, open)))
        say({ opened: id })
      } catch (error) {
        say({ failed: id, why: String(error) })
      }
    }
  }
  try {
    rmSync(directory, { recursive: true, force: true })
  } catch {
    // In a folder that is not for everybody; the next gateway there removes it.
  }
}
