import type { z } from 'zod'
import type { Setting } from './contract/setting.ts'
import { SETTING_TEXTS } from './settings.gen.ts'

/**
 * Texts that are no secret. Any other that somebody writes freely is taken for one, so that a new setting shows nothing before
 * somebody has thought of it; numbers and choices can hold none.
 */
const OPEN_TEXTS: ReadonlySet<string> = new Set([
  ...['RUNYARD_DATA_DIR', 'XDG_CACHE_HOME', 'RUNYARD_BLOBS', 'AWS_REGION', 'RUNYARD_HOST'],
  ...['RUNYARD_ALLOWED_HOSTS', 'RUNYARD_KUBECONFIG', 'RUNYARD_KUBERNETES_NAMESPACE'],
  ...['RUNYARD_KUBERNETES_POD_TEMPLATE', 'RUNYARD_DEFAULT_IMAGE', 'RUNYARD_DOCKER_RUNTIME', 'RUNYARD_IMAGES'],
  ...['RUNYARD_EGRESS_RANGES', 'RUNYARD_PRIVATE_HOSTS', 'RUNYARD_GIT_HOSTS', 'RUNYARD_LOCAL_REPOS'],
  ...['RUNYARD_POOL', 'RUNYARD_TOOLS_DIR', 'RUNYARD_DEFAULT_MODEL', 'RUNYARD_FALLBACK_MODELS'],
  ...['RUNYARD_MODEL_PRICES', 'RUNYARD_CONTEXT_WINDOWS', 'RUNYARD_MAX_OUTPUT_TOKENS'],
  ...['AZURE_RESOURCE_NAME', 'AZURE_OPENAI_API_VERSION', 'AZURE_OPENAI_DEPLOYMENTS'],
  ...['NODE_EXTRA_CA_CERTS', 'RUNYARD_MAIL_FROM', 'RUNYARD_MAIL_DOMAINS'],
  ...['RUNYARD_BEDROCK_REGION', 'GOOGLE_VERTEX_PROJECT', 'GOOGLE_VERTEX_LOCATION'],
])

/** The settings of a process by the schema that reads them: what is set, and what of it may be shown. */
export const describeSettings = (
  shape: Readonly<Record<string, z.ZodType>>,
  given: Readonly<Record<string, string | undefined>>,
): Setting[] =>
  Object.entries(shape).map(([name, schema]) => {
    const text = given[name]
    const show = howToShow(name, schema)
    const { default: usual = '', meaning = '' } = SETTING_TEXTS[name] ?? {}
    return {
      name,
      value: text === undefined || show === null ? null : show(text),
      is_set: text !== undefined,
      is_secret: show === null,
      source: text === undefined ? 'default' : 'environment',
      default: usual,
      meaning,
    }
  })

/** A setting that the command's flag gave. */
export const withFlag = (settings: readonly Setting[], name: string, value: string): Setting[] =>
  settings.map((setting) =>
    setting.name === name ? { ...setting, value, is_set: true, source: 'flag' } : setting,
  )

function howToShow(name: string, schema: z.ZodType): ((text: string) => string | null) | null {
  if (OPEN_TEXTS.has(name) || isClosed(schema)) return (text) => text
  return /_(URL(_\w+)?|ENDPOINT)$/.test(name) ? withoutSecrets : null
}

/** Whether it takes a number, or one of a few words. */
function isClosed(schema: unknown): boolean {
  const { def } = schema as { def: { type: string; innerType?: unknown; in?: unknown; out?: unknown } }
  if (def.type === 'optional' || def.type === 'default') return isClosed(def.innerType)
  if (def.type === 'pipe') return isClosed(def.in) || isClosed(def.out)
  return def.type === 'enum' || def.type === 'number'
}

/** An address may carry a password, or a key in its query; one that cannot be read is not shown. */
function withoutSecrets(text: string): string | null {
  const url = URL.parse(text.replace(/^(postgres(?:ql)?:\/\/[^/]*)@\//, '$1@localhost/'))
  return url ? `${url.protocol}//${url.host}${url.pathname}` : null
}
