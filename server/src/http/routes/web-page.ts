import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isUuid } from '../../contract/run-id.ts'
import { baseOf, html, PAGE_HEADERS, sendPage } from '../page.ts'
import { WEB_ROOT } from '../web-files.ts'

/** What the page knows how to show; the rest of an address is its own. */
const PATHS = [
  '/',
  '/sign-in',
  '/new',
  '/environments',
  '/environments/:uid',
  '/schedules',
  '/schedules/:schedule_id',
  '/triggers',
  '/triggers/:trigger_id',
  '/webhooks',
  '/webhooks/:webhook_id',
  '/secrets',
  '/secrets/new',
  '/secrets/:scope/:name',
  '/skills',
  '/usage',
  '/keys',
  '/keys/audit',
  '/keys/identities/:uid',
  '/keys/pools/:pool',
]

/**
 * The page of all runs, and of everything beside them. It holds nothing of anybody and is served to all: what it shows it asks
 * the API for.
 */
export function serveWebPage(app: FastifyInstance): void {
  const page = readPage()
  const send = (request: FastifyRequest, reply: FastifyReply) => {
    if (page === null) return sendPage(reply, NOT_BUILT)
    const nonce = randomBytes(16).toString('base64')
    return reply
      .headers(PAGE_HEADERS)
      .header('content-security-policy', withNonce(nonce))
      .send(
        page
          .replace('<base href="/">', `<base href="${baseOf(request.url)}">`)
          .replace('name="style-nonce" content=""', `name="style-nonce" content="${nonce}"`),
      )
  }
  for (const path of PATHS) app.get(path, async (request, reply) => send(request, reply))
  app.get<{ Params: { session_id: string } }>('/sessions/:session_id', async (request, reply) => {
    // Not looked up: whoever has no access must not learn which runs there are.
    if (!isUuid(request.params.session_id)) return sendPage(reply, NO_SUCH_SESSION)
    return send(request, reply)
  })
}

function readPage(): string | null {
  try {
    return readFileSync(new URL('index.html', WEB_ROOT), 'utf8')
  } catch {
    return null
  }
}

/** Dialogs of the page lock its scrolling by a style sheet that they make; the number is theirs alone. */
const withNonce = (nonce: string): string =>
  PAGE_HEADERS['content-security-policy'].replace("style-src 'self'", `style-src 'self' 'nonce-${nonce}'`)

const NOT_BUILT = {
  title: 'Not built',
  status: 503,
  main: html`<h1>The page is not built</h1>
<p>This service runs from its sources, and its page was not built. Run <code>npm install</code>, or
<code>node scripts/build-web.ts</code>, and start it again.</p>`,
}

const NO_SUCH_SESSION = {
  title: 'No such session',
  status: 404,
  main: html`<h1>There is no run here</h1>
<p>The address of a run’s page ends in the id of the run; this one does not.</p>`,
}
