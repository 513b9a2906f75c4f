import type { FastifyReply } from 'fastify'

/** Text that is HTML already; only `html` makes it. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Part = string | number | Html | readonly Html[]

/** A template whose values are escaped, for elements and quoted attributes, unless they are HTML themselves. */
export function html(strings: TemplateStringsArray, ...values: Part[]): Html {
  return new Html(strings.reduce((text, piece, index) => text + toHtml(values[index - 1] ?? '') + piece))
}

const toHtml = (value: Part): string => {
  if (value instanceof Html) return value.text
  if (typeof value === 'object') return value.map((item) => item.text).join('\n')
  return String(value).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** What every page and its files are sent with: nothing from outside, nothing inline, no frames. */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-cache',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
    "frame-ancestors 'none'; base-uri 'self'; form-action 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const

export interface Page {
  title: string
  main: Html
  /** Paths of style sheets and scripts beside the common ones. */
  styles?: readonly string[]
  scripts?: readonly string[]
  /** Those that are modules; they come after the scripts. */
  modules?: readonly string[]
  status?: number
}

export function sendPage(reply: FastifyReply, page: Page): FastifyReply {
  return reply
    .code(page.status ?? 200)
    .headers(PAGE_HEADERS)
    .send(layOut(page, pathOf(reply.request.url)).text)
}

/** The way from a page to where the service begins: a proxy may serve it below a path that it does not pass on. */
export const baseOf = (url: string): string => '../'.repeat(pathOf(url).split('/').length - 2) || './'

const pathOf = (url: string): string => url.split('?')[0] ?? ''

/** A fragment alone would count from the base. A page that says what is not there repeats nothing of its address. */
const skipLink = (path: string, status = 200): Html =>
  status === 200 ? html`<a class="skip" href="${path.slice(1)}#main">Skip to the content</a>` : html``

const layOut = (
  { title, main, styles = [], scripts = [], modules = [], status }: Page,
  path: string,
): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<base href="${baseOf(path)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Runyard</title>
<link rel="icon" href="assets/mark.svg">
<link rel="stylesheet" href="assets/theme.css">
<link rel="stylesheet" href="assets/docs/docs.css">
${styles.map((file) => html`<link rel="stylesheet" href="${file}">`)}
${scripts.map((file) => html`<script src="${file}" defer></script>`)}
${modules.map((file) => html`<script type="module" src="${file}"></script>`)}
</head>
<body>
<header class="bar">
${skipLink(path, status)}
<a class="mark" href="./">Runyard</a>
<nav aria-label="Documentation"><a href="docs">Docs</a><a href="docs/errors">Errors</a><a href="docs/api">API</a></nav>
</header>
<main id="main">
${main}
</main>
</body>
</html>
`
