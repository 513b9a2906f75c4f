import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../contract/error.ts'
import { isUuid } from '../../contract/run-id.ts'
import { baseOf, html, PAGE_HEADERS, type Page, sendPage } from '../page.ts'
import { WEB_ROOT } from '../web-files.ts'

/** What the page knows how to show; the rest of an address is its own. */
const PATHS = [
  '/',
  '/sign-in',
  '/new',
  '/device',
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
  '/docs/guides',
  '/docs/guides/*',
  '/workers',
  '/settings',
  '/keys',
  '/keys/audit',
  '/keys/identities/:uid',
  '/keys/pools/:pool',
]

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whatever the query holds, it is not looked at. */
    reads_no_query?: true
  }
}

/**
 * The page of all runs, and of everything beside them. It holds nothing of anybody and is served to all: what it shows it asks
 * the API for.
 */
export function serveWebPage(app: FastifyInstance): void {
  const page = readPage()
  const send = (request: FastifyRequest, reply: FastifyReply, status = 200) => {
    if (page === null) return sendPage(reply, NOT_BUILT)
    const nonce = randomBytes(16).toString('base64')
    return reply
      .code(status)
      .headers(PAGE_HEADERS)
      .header('content-security-policy', withNonce(nonce))
      .send(
        page
          .replace('<base href="/">', `<base href="${baseOf(request.url)}">`)
          .replace('name="style-nonce" content=""', `name="style-nonce" content="${nonce}"`),
      )
  }
  // The browser's page reads the query, and drops what it does not know.
  const options = { config: { reads_no_query: true } } as const
  for (const path of PATHS) app.get(path, options, async (request, reply) => send(request, reply))
  app.get<{ Params: { session_id: string } }>('/sessions/:session_id', options, async (request, reply) => {
    // Not looked up: whoever has no access must not learn which runs there are.
    return send(request, reply, isUuid(request.params.session_id) ? 200 : 404)
  })
  app.setNotFoundHandler(async (request, reply) => {
    if (!isForReader(request)) throw new AppError('resource_not_found', 'There is nothing at this path.')
    return /^\/docs\//.test(request.url) ? sendPage(reply, NO_SUCH_DOCS) : send(request, reply, 404)
  })
}

/** What is answered to somebody in a browser whose address cannot be read; `null`: another error, or a program asks. */
export function explainAddress(error: unknown, request: FastifyRequest): Page | null {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const is_unreadable = code === 'FST_ERR_BAD_URL' || code === 'FST_ERR_MAX_PARAM_LENGTH'
  return is_unreadable && isForReader(request) ? BAD_ADDRESS : null
}

/** Whether somebody looks at the answer in a browser: nothing that programs ask for lies beside these. */
const isForReader = ({ method, url, headers }: FastifyRequest): boolean =>
  (method === 'GET' || method === 'HEAD') &&
  headers.accept?.includes('text/html') === true &&
  !/^\/(?:api|assets|web|downloads)(?:[/?]|$)/.test(url)

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

const BAD_ADDRESS = {
  title: 'No such page',
  status: 400,
  main: html`<h1>This address cannot be read</h1>
<p>Perhaps it was cut or mistyped. <a href="./">All runs</a></p>`,
}

const NO_SUCH_DOCS = {
  title: 'No such page',
  status: 404,
  main: html`<h1>There is no such page</h1>
<p>The address may be mistyped, or from another version of the service. <a href="docs">All documentation</a></p>`,
}
