/**
 * A back end that gives tickets to an agent: PUT /tickets/ID with the task as its body starts the run, once, and GET
 * /tickets/ID says how far it is. It needs no database for that: the id is metadata of the run, and the idempotency key.
 */
import { createServer, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { APIError, type RunItem, Runyard } from '@runyard/client'

const client = new Runyard()
const [environment = ''] = process.argv.slice(2)
if (!environment) throw new Error('usage: service.ts ENVIRONMENT')

/** The newest run of this ticket. */
async function findRun(ticket: string): Promise<RunItem | undefined> {
  const { runs } = await client.runs.list({ metadata: { ticket }, limit: 1 })
  return runs[0]
}

async function startRun(ticket: string, task: string): Promise<RunItem> {
  const known = await findRun(ticket)
  if (known) return known
  const { run_id } = await client.runs.create(
    {
      prompt: task,
      title: `Ticket ${ticket}`,
      config: { name: 'tickets', environment_id: environment },
      metadata: { ticket },
    },
    // Callers that come at once get the same run. One that comes at once with another task gets an error.
    { idempotencyKey: `ticket-${environment}-${ticket}` },
  )
  return client.runs.retrieve(run_id)
}

const describe = ({ run_id, state, status_message, session_link }: RunItem) => ({
  run_id,
  state,
  ...(status_message ? { reason: status_message.message } : {}),
  watch: session_link,
})

async function answer(request: IncomingMessage): Promise<[status: number, body: object]> {
  const [, ticket] = /^\/tickets\/([A-Za-z0-9-]{1,64})$/.exec(request.url ?? '') ?? []
  if (!ticket) return [404, { error: 'There is /tickets/ID.' }]
  if (request.method === 'PUT') return [202, describe(await startRun(ticket, await text(request)))]
  if (request.method !== 'GET') return [405, { error: 'There are GET and PUT.' }]
  const run = await findRun(ticket)
  return run ? [200, describe(run)] : [404, { error: 'Nobody works on this ticket.' }]
}

function explain(error: unknown): [status: number, body: object] {
  // What the caller can mend is said as it is. The rest is ours, and goes to the log.
  if (error instanceof APIError && [400, 409, 413].includes(error.status))
    return [error.status, { error: error.message }]
  console.error(error)
  return [503, { error: 'The ticket cannot be started or read now. Try again later.' }]
}

const server = createServer(async (request, response) => {
  const [status, body] = await answer(request).catch(explain)
  response.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`)
})
server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => console.log('The back end listens.'))
