/**
 * A scripted HTTP server on real sockets, for the cases of client/behaviour/*.json in every language.
 *
 *     node client/test/fault-server.ts [--page-script FILE]
 *
 * prints one JSON line, {"url": "http://127.0.0.1:1", "other": "http://127.0.0.1:2"}, and ends when stdin closes. `other` is
 * the same server under a second origin.
 *
 *     GET  /cases        the table: all cases, those with `each` once for each of its values
 *     POST /scripts      {"answers": [...]} -> {"id", "url", "other", "lengths"}
 *     GET  /scripts/ID   {"requests": [...]}, as `Received` in fault-answer.ts; `path` is what follows /s/ID
 *     GET  /page         a page that runs the file of --page-script, which is at /bundle.js
 *     any  /s/ID/...     the client under test: `url` of the script is its base URL. Answers are given in turn, the last one
 *                        again and again; "lengths" are the bytes of their bodies for a first request without `after`.
 *
 * It is also a proxy (absolute form and CONNECT) that leads to itself whatever the host; a request says which way it came
 * in `via`: "direct", "proxy" or "tunnel".
 *
 * An answer is an object. What it says, one of:
 *     "json": any          "text": "..."        "run": {fields that differ from a whole, queued run}
 *     "problem": {"status", "code", "detail"?, "retryable"?}: a problem document, title "A title", trace id "trace-1"
 *     "redirect": address (status 302 unless given)
 *     "echo": true         a succeeded run whose id is the last part of the path
 *     "pages": {"count"}   runs run-0, run-1, ... in pages of `limit` (20), linked by `cursor`
 *     "events": [...]      an event stream as in fault-events.ts, from `after` or Last-Event-ID on; "retry_ms" (1),
 *                          "newline" ("\n")
 * and "status" (200), "headers", "framing": "length" | "chunked" | "close" (streams: chunked), "delay_ms" before the head,
 * "connection": "close" | "keep" for the next request | "drop": the head says "keep", and the server closes it all the same.
 * A script with "connection" has an origin of its own.
 * In its strings `${url}` and `${other}` are the script's addresses, `${date_in_N}` an HTTP date N seconds from now,
 * and `${megabyte}` a million times the letter x.
 *
 * What goes wrong, "fault": {"at", "after"?, "how", "ms"?}
 *     at: "request" (nothing is sent), "head", "body"; after: bytes of it that are sent (half of a head, all of a body)
 *     how: "stall" (silence), "reset" (RST), "close" (FIN), "drip" (one byte every `ms`, 20)
 *
 * A case:
 *     name      the file's name stands before it
 *     long      true: takes a minute, and is left to `npm run test:long`
 *     except    "node", "deno", "bun", "workerd", "browser", "python-sync", "python-async" (asyncio), "python-trio",
 *               "python-aiohttp" (asyncio)
 *     client    options of the client in snake_case, times in ms; base_url and api_key "ry_test" are added
 *     answers   as above
 *     call      method      "runs.create_and_wait", or "get", "post", ... for endpoints that are not modelled
 *               args        positional strings (ids, paths)
 *               params      body or query: the next argument (TypeScript), keyword arguments (Python). A key "output_schema"
 *                           with the value "Answer" is the language's own schema of {"answer": int}
 *               options     of the request: timeout (ms), max_retries, headers, query, body (get, post, ...),
 *                           idempotency_key, throw_on_failure, after, follow, max_reconnects. Values of query and params
 *                           {"$date": "2026-..."} are the language's own date and time, {"$bytes": base64} its bytes
 *               iterate     "items" | "pages": collected into an array. A stream is always collected
 *               raw         "response": {status, headers, body} of the raw response (body parsed)
 *                           "parsed": {status, headers, data}; "stream": {status, headers, text}, read piece by piece
 *               concurrent  so many calls at once with `${n}` = 0, 1, ... in args and expect; one client
 *               proxy       true: through the server as a proxy, to http://runyard.test/s/ID
 *               abort_after "before" the call | "headers": while waiting for them | "body": while reading it | "wait":
 *                           between two attempts | "stream": in the loop over events, after the first. TypeScript: a signal,
 *                           and `APIUserAbortError`; Python async: the task is cancelled, and `CancelledError`
 *               first       another call, made before with the same client
 *               pause_ms    between the two: time for what the server did after its answer to arrive
 *               stop_after  leaves the loop over items or events after so many
 *               webhook     for webhooks.unwrap: {"payload": text, "age_s", "secret"?, "sign_with": [secrets], "signature"?,
 *                           "sent_payload"?, "drop"?: [headers]}: signed by the driver at now - age_s
 *               cut_every_byte  true: the first answer (a stream) once for each number of bytes, broken there, and the same
 *                           stream again, whole. Each time all stored events come once, in order, and the deltas of each
 *                           message join to its whole text, each `offset` in UTF-16 units following the piece before
 *     expect    value | items | events   as the last paragraph says; `events` are compared in full length, deltas as they come
 *               count, unique      how many items, and the field in which all differ
 *               error       {"class", "kind_of"?: [ancestors], and any fields of it; "message"}
 *               requests    one entry for each request, in order
 *               waits_ms    the least time between the arrivals of requests i and i + 1
 *               same_header, new_header   names: on all requests, and the same | another one each time
 *
 * What comes is compared with what is expected key by key: keys that are not named do not matter, arrays have the same
 * length. {"$match": "regular expression"}, {"$absent": true} (also null), {"$any": true}.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { readTable } from './behaviour-table.ts'
import { type Answer, bodyLength, type Received, sendAnswer } from './fault-answer.ts'
import { fill } from './placeholders.ts'

const MEGABYTE = 'x'.repeat(1_000_000)
const PAGE =
  '<!doctype html><meta charset="utf-8"><title>tests</title><script type="module" src="/bundle.js"></script>'

interface Script {
  answers: Answer[]
  requests: Received[]
}

const { values } = parseArgs({ options: { 'page-script': { type: 'string' } } })
const table = readTable()
const scripts = new Map<string, Script>()
const used = new WeakSet<Socket>()
/** Ports of our own ends of the tunnels. */
const tunnels = new Set<number>()
const url = await listen('main')
const other = await listen('other')
process.stdin
  .resume()
  .on('end', () => process.exit())
  .on('error', () => process.exit())
console.log(JSON.stringify({ url, other }))

/** The address of a new server. */
async function listen(port: Received['port']): Promise<string> {
  const server = createServer()
  // Whatever a broken connection reports: the client under test is who should notice.
  server.on('connection', (socket) => socket.on('error', () => {}))
  server.on('request', (incoming) => serve(incoming, port).catch(report))
  server.on('connect', (_incoming, socket: Socket) => openTunnel(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function serve(incoming: IncomingMessage, port: Received['port']): Promise<void> {
  const socket = incoming.socket
  const target = new URL(incoming.url ?? '/', url)
  const [, kind, id = '', ...rest] = target.pathname.split('/')
  const script = scripts.get(id)
  const body = await text(incoming)
  if (kind === 's' && script) {
    const is_absolute = incoming.url?.startsWith('http:')
    const is_tunnel = tunnels.has(socket.remotePort ?? 0)
    const request: Received = {
      method: incoming.method ?? '',
      path: `/${rest.join('/')}`,
      query: [...target.searchParams],
      headers: Object.fromEntries(
        Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
      ),
      body: parseBody(body),
      arrived_ms: performance.now(),
      reused: used.has(socket),
      via: is_tunnel ? 'tunnel' : is_absolute ? 'proxy' : 'direct',
      port,
      state: 'received',
      aborted: false,
    }
    socket.once('close', () => {
      request.aborted = request.state !== 'answered'
    })
    used.add(socket)
    const nth = script.requests.push(request) - 1
    const answer = script.answers[Math.min(nth, script.answers.length - 1)] ?? { status: 404 }
    await sendAnswer(socket, fillIn(answer, id), request, nth)
    return
  }
  const found = await control(incoming.method ?? '', kind ?? '', id, body)
  const is_page = kind === 'page' || kind === 'bundle.js'
  const content_type = kind === 'page' ? 'text/html' : is_page ? 'text/javascript' : 'application/json'
  const bytes = Buffer.from(typeof found === 'string' ? found : JSON.stringify(found ?? { error: 'nothing' }))
  socket.end(
    Buffer.concat([
      Buffer.from(
        `HTTP/1.1 ${found === undefined ? '404 Not Found' : '200 OK'}\r\ncontent-type: ${content_type}; charset=utf-8\r\n` +
          `content-length: ${bytes.length}\r\ncache-control: no-store\r\nconnection: close\r\n\r\n`,
      ),
      bytes,
    ]),
  )
}

/** What the tests ask: an object is sent as JSON, undefined is a 404. */
async function control(
  method: string,
  kind: string,
  id: string,
  body: string,
): Promise<object | string | undefined> {
  if (kind === 'cases') return table
  if (kind === 'page') return PAGE
  if (kind === 'bundle.js' && values['page-script']) return readFileSync(values['page-script'], 'utf8')
  if (kind !== 'scripts') return undefined
  if (method === 'POST') {
    const { answers } = JSON.parse(body) as { answers: Answer[] }
    const made = String(scripts.size + 1)
    scripts.set(made, { answers, requests: [] })
    // Other cases must not take the connection that was kept for this one.
    const origin = answers.some(({ connection }) => connection) ? await listen('main') : url
    return {
      id: made,
      url: `${origin}/s/${made}`,
      other: `${other}/s/${made}`,
      lengths: answers.map(bodyLength),
    }
  }
  return scripts.get(id) && { requests: scripts.get(id)?.requests }
}

function fillIn(answer: Answer, id: string): Answer {
  const dates = JSON.stringify(answer).replace(/\$\{date_in_(\d+)\}/g, (_all, seconds: string) =>
    new Date(Date.now() + Number(seconds) * 1000).toUTCString(),
  )
  const values = { url: `${url}/s/${id}`, other: `${other}/s/${id}`, megabyte: MEGABYTE }
  return fill(JSON.parse(dates), values) as Answer
}

function parseBody(body: string): unknown {
  if (body === '') return null
  try {
    return JSON.parse(body)
  } catch {
    return body
  }
}

function openTunnel(socket: Socket): void {
  const inner = connect(Number(new URL(url).port), '127.0.0.1', () => {
    tunnels.add(inner.localPort ?? 0)
    socket.write('HTTP/1.1 200 Connection Established\r\n\r\n')
    inner.pipe(socket).pipe(inner)
  })
  for (const [end, opposite] of [
    [inner, socket],
    [socket, inner],
  ] as const) {
    end.on('error', () => {})
    end.on('close', () => opposite.destroy())
  }
}

function report(error: unknown): void {
  console.error(error)
  process.exitCode = 1
}
