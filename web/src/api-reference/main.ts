import type { ApiDescription } from './api-description.ts'
import { namesPlugin } from './names-plugin.ts'
import { samplesPlugin } from './samples-plugin.ts'

declare global {
  interface Window {
    /** Of the script before this one, which comes without types. */
    SwaggerUIBundle(options: object): void
  }
}

const scheme = matchMedia('(prefers-color-scheme: dark)')
const applyScheme = () => document.documentElement.classList.toggle('dark-mode', scheme.matches)
scheme.addEventListener('change', applyScheme)
applyScheme()

const url = (path: string): string => new URL(path, document.baseURI).href
const api = (await (await fetch(url('api/v1/openapi.json'))).json()) as ApiDescription

window.SwaggerUIBundle({
  // Below the path of a proxy, too.
  spec: { ...api, servers: [{ url: url('api/v1') }] },
  dom_id: '#swagger-ui',
  plugins: [samplesPlugin(api, url('api/v1/')), namesPlugin],
  layout: 'OwnLayout',
  deepLinking: true,
  // It asks no validator and nothing else outside.
  validatorUrl: null,
  // Its colours are inline styles, for a dark ground alone.
  syntaxHighlight: { activated: false },
  displayRequestDuration: true,
  persistAuthorization: false,
  defaultModelsExpandDepth: 0,
  docExpansion: 'list',
})
