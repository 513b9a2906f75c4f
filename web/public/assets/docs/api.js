// @ts-check
// Swagger UI on this service's own description. It is told to ask no validator and nothing else outside.

const scheme = matchMedia('(prefers-color-scheme: dark)')
const applyScheme = () => document.documentElement.classList.toggle('dark-mode', scheme.matches)
scheme.addEventListener('change', applyScheme)
applyScheme()

// @ts-expect-error The bundle, loaded before, is without types.
window.SwaggerUIBundle({
  url: new URL('api/v1/openapi.json', document.baseURI).href,
  dom_id: '#swagger-ui',
  deepLinking: true,
  validatorUrl: null,
  displayRequestDuration: true,
  persistAuthorization: false,
})
