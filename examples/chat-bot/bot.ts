/**
 * A chat bot: the first message of a thread starts a run, later ones are follow-ups to it, and a signed webhook says when the
 * agent has something to say. The chat posts {"thread", "text"} to /messages and gets the same at CHAT_URL; without
 * CHAT_URL answers are printed.
 */
import { createServer, type IncomingMessage } from 'node:http'
import { buffer, json } from 'node:stream/consumers'
import { Runyard, WebhookVerificationError } from '@runyard/client'

const client = new Runyard() // and RUNYARD_WEBHOOK_SECRET
const NAME = 'chat-bot'
/** Keep both in your database: these are forgotten at a restart. */
const runOf = new Map<string, string>()
const seen = new Set<string>()

async function hear({ thread, text }: { thread: string; text: string }): Promise<void> {
  const run_id = runOf.get(thread)
  if (run_id) await client.runs.followup(run_id, { message: text })
  else {
    const created = await client.runs.create({ prompt: text, config: { name: NAME }, metadata: { thread } })
    runOf.set(thread, created.run_id)
  }
}

/** What the agent said last. */
async function lastWords(run_id: string): Promise<string> {
  let words = ''
  for await (const { messages } of client.runs.conversation(run_id))
    for (const { role, content } of messages)
      for (const block of content) {
        if (role === 'assistant' && block.type === 'text') words = block.text
        // A job without a model speaks through its commands.
        else if (block.type === 'action_result') words = block.output.text
      }
  return words
}

async function say(thread: string, text: string): Promise<void> {
  const { CHAT_URL } = process.env
  if (!CHAT_URL) return console.log(`[${thread}] ${text}`)
  const answer = await fetch(CHAT_URL, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ thread, text }),
  })
  if (!answer.ok) throw new Error(`The chat answered ${answer.status}.`)
}

/** A webhook says only which run has changed; everything else is asked for. It may come more than once. */
async function takeWebhook(request: IncomingMessage): Promise<void> {
  const event = await client.webhooks.unwrap(await buffer(request), request.headers)
  const id = String(request.headers['webhook-id'])
  if (seen.has(id)) return
  const run = await client.runs.retrieve(event.data.run_id)
  const { thread } = run.metadata
  if (run.agent_config.name === NAME && thread) {
    const trouble = run.state === 'SUCCEEDED' ? '' : (run.status_message?.message ?? run.state)
    await say(thread, trouble || (await lastWords(run.run_id)))
  }
  seen.add(id)
}

const server = createServer(async (request, response) => {
  try {
    if (request.url === '/messages') await hear((await json(request)) as { thread: string; text: string })
    else if (request.url === '/webhook') await takeWebhook(request)
    else return response.writeHead(404).end()
    response.writeHead(204).end()
  } catch (error) {
    const is_forged = error instanceof WebhookVerificationError
    if (!is_forged) console.error(error)
    // A webhook that was not taken is sent again.
    response.writeHead(is_forged ? 400 : 500).end()
  }
})
server.listen(Number(process.env.PORT ?? 8081), '127.0.0.1', () => console.log('The bot listens.'))
