import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { WebhookEvent } from '../../src/contract/webhook.ts'

export interface ReceivedWebhook {
  path: string
  headers: IncomingHttpHeaders
  body: string
  event: WebhookEvent
}

export interface WebhookReceiver {
  /** As RUNYARD_PRIVATE_HOSTS names it. */
  host: string
  url: string
  received: ReceivedWebhook[]
  /** Of one run, the types in the order in which they came. */
  typesOf(run_id: string): string[]
  close(): Promise<void>
}

/** A receiver of webhooks on this machine. `answer` decides on each request; without it all is well. */
export async function openWebhookReceiver(
  answer: (received: ReceivedWebhook, response: ServerResponse) => void = (_, response) => response.end(),
): Promise<WebhookReceiver> {
  const received: ReceivedWebhook[] = []
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const event = JSON.parse(body) as WebhookEvent
    const one = { path: request.url ?? '', headers: request.headers, body, event }
    received.push(one)
    answer(one, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    host,
    url: `http://${host}/hook?to=us`,
    received,
    typesOf: (run_id) =>
      received.filter(({ event }) => event.data.run_id === run_id).map(({ event }) => event.type),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
