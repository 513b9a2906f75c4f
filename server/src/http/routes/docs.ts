import type { FastifyInstance } from 'fastify'
import { AppError, ERRORS, type ErrorCode } from '../../contract/error.ts'
import type { HttpSettings, Services } from '../context.ts'
import { type AnswerExample, ERROR_PAGES, type RunExample } from '../error-pages.ts'
import { type Html, html, type Page, sendPage } from '../page.ts'
import { problemBody } from '../problem.ts'
import { API_PREFIX } from '../route.ts'
import { serveWebFiles } from '../web-files.ts'

/** The pages for people who use the API, and the files that all pages are made of. */
export function serveDocs(app: FastifyInstance, { settings }: Services): void {
  serveWebFiles(app)
  app.get('/docs', async (_request, reply) => sendPage(reply, indexPage(settings)))
  app.get('/docs/api', async (_request, reply) => sendPage(reply, API_PAGE))
  app.get('/docs/errors', async (_request, reply) => sendPage(reply, errorsPage()))
  app.get<{ Params: { code: string } }>('/docs/errors/:code', async (request, reply) => {
    const code = CODES.find((known) => known === request.params.code)
    return sendPage(reply, code ? errorPage(code, settings.public_url) : unknownErrorPage())
  })
}

const CODES = Object.keys(ERRORS) as ErrorCode[]

const indexPage = ({ public_url, version }: HttpSettings): Page => ({
  title: 'Documentation',
  main: html`<h1>Runyard</h1>
<p class="lead">Runs coding agents on request: send a prompt over HTTP, follow the run live, collect what it made.</p>
<ul class="cards">
<li><a href="docs/guides">Guides</a><p>Tasks, concepts and reference of this version, with a search.</p></li>
<li><a href="docs/api">API reference</a><p>Every operation, its fields and answers, to read and to try out.</p></li>
<li><a href="docs/errors">Errors</a><p>Each error code: what it means, and what to do about it.</p></li>
<li><a href="api/v1/openapi.json">OpenAPI description</a><p>The same contract for machines, version 3.1.</p></li>
</ul>
<h2>A first run</h2>
<pre tabindex="0"><code>curl -sS ${public_url}${API_PREFIX}/agent/runs \\
  -H "Authorization: Bearer $RUNYARD_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"prompt": "Say hello.\\n\`\`\`sh\\necho hello\\n\`\`\`"}'</code></pre>
<p>The answer holds the <code>run_id</code>. <code>GET /api/v1/agent/runs/{run_id}</code> shows the run with a
<code>session_link</code>: the live page of the run, for who signs in there. Where no model is
configured, the fenced shell blocks of a prompt are run, and nothing else.</p>
<p class="soft">Version ${version}</p>`,
})

const errorsPage = (): Page => ({
  title: 'Errors',
  main: html`<h1>Errors</h1>
<p class="lead">Every error answer is a problem document, <code>application/problem+json</code>. Its
<code>error_code</code> is one of these and stays the same; the <code>detail</code> says what happened this time. The
header <code>X-Should-Retry</code> mirrors <code>retryable</code>. A run that ends badly carries the same codes in
<code>status_message</code>.</p>
<table class="codes">
<thead><tr><th scope="col">Code</th><th scope="col">Status</th><th scope="col">Retry</th></tr></thead>
<tbody>
${CODES.map(errorRow)}
</tbody>
</table>`,
})

const errorRow = (code: ErrorCode): Html => {
  const { status, title, retryable } = ERRORS[code]
  return html`<tr><th scope="row"><a href="docs/errors/${code}"><code>${code}</code></a><span class="soft">${title}</span></th>
<td>${status}</td><td>${retryable ? 'yes' : 'no'}</td></tr>`
}

const RETRY = {
  yes: 'Yes. The same request can succeed later: wait as long as Retry-After says, or a little longer each time. Send the same Idempotency-Key, so that nothing is done twice.',
  no: 'No. The same request gives the same answer until something is changed.',
}

const errorPage = (code: ErrorCode, public_url: string): Page => {
  const { status, title, retryable } = ERRORS[code]
  const { cause, fix, example, is_unused } = ERROR_PAGES[code]
  const is_of_runs = 'state' in example
  return {
    title,
    main: html`<p class="trail"><a href="docs/errors">Errors</a></p>
<h1>${title}</h1>
<dl class="facts">
<dt>Code</dt><dd><code>${code}</code></dd>
<dt>Status</dt><dd>${status}</dd>
<dt>Worth repeating?</dt><dd>${retryable ? RETRY.yes : RETRY.no} The <code>retryable</code> of an answer decides.</dd>
</dl>
${is_unused ? [html`<p>This code is part of the wire format. This version does not give it.</p>`] : []}
<h2>What happened</h2>
<p>${cause}</p>
<h2>What helps</h2>
<p>${fix}</p>
<h2>${is_of_runs ? 'In a run' : `To ${example.request}`}</h2>
<pre tabindex="0"><code>${JSON.stringify(is_of_runs ? runExample(code, example) : answerExample(code, example, public_url), null, 2)}</code></pre>`,
  }
}

const answerExample = (code: ErrorCode, example: AnswerExample, public_url: string): unknown =>
  problemBody(
    new AppError(code, example.detail, {
      ...(example.retryable === undefined ? {} : { retryable: example.retryable }),
    }),
    '6f1c1c52-7c0e-4a86-9a2e-0f6a3f0f8a11',
    example.request.slice(example.request.indexOf(' ') + 1),
    public_url,
  )

const runExample = (code: ErrorCode, { state, message }: RunExample): unknown => ({
  state,
  status_message: { message, error_code: code, retryable: ERRORS[code].retryable },
})

const unknownErrorPage = (): Page => ({
  title: 'Unknown error code',
  status: 404,
  main: html`<h1>There is no such error code</h1>
<p>This version has <a href="docs/errors">these</a>. A newer service may know more of them.</p>`,
})

const API_PAGE: Page = {
  title: 'API reference',
  styles: ['assets/swagger-ui/swagger-ui.css', 'assets/docs/api.css'],
  scripts: ['assets/swagger-ui/swagger-ui-bundle.js'],
  modules: ['assets/docs/api.js'],
  main: html`<noscript><p>This page needs JavaScript. The description itself is at
<a href="api/v1/openapi.json">/api/v1/openapi.json</a>.</p></noscript>
<h1>API reference</h1>
<p class="lead">Every operation with an example to send, its fields and its answers. <b>Authorize</b> with an API key to try them
here. The same for machines: <a href="api/v1/openapi.json">openapi.json</a>.</p>
<div id="swagger-ui"></div>`,
}
