import { z } from 'zod'
import { AppError } from './contract/error.ts'
import { type AzureSettings, azureUrl, type CloudSettings } from './harness/cloud-providers.ts'
import type { ModelSettings } from './harness/models.ts'
import {
  chatEndpoint,
  NAMED_PROVIDERS,
  type NamedProviderName,
  type NamedSettings,
  PROVIDER_NAMES,
} from './harness/named-providers.ts'
import type { EndpointSettings } from './harness/providers.ts'
import { address, key, splitList } from './setting.ts'

type Table = typeof NAMED_PROVIDERS
type KeyVariable = Table[NamedProviderName]['keys'][number]
type AddressVariable = Table[NamedProviderName]['address']
const optional_address = address.optional()

const KEYS = PROVIDER_NAMES.flatMap((name): readonly KeyVariable[] => NAMED_PROVIDERS[name].keys)
const ADDRESSES = PROVIDER_NAMES.map((name): AddressVariable => NAMED_PROVIDERS[name].address)

/** A part of a host's name, so that nothing leads elsewhere. */
const label = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'must be a name such as us-east-1')

const Deployments = z
  .string()
  .transform(splitList)
  .refine(
    (items) => items.every((item) => /^[A-Za-z0-9][A-Za-z0-9._-]*(=(chat|responses))?$/.test(item)),
    'must be names of deployments, each perhaps with its API, such as gpt-5.4,deepseek-v3=chat',
  )
  .transform((items) =>
    Object.fromEntries(
      items.map((item) => {
        const [name = '', api] = item.split('=')
        return [name, api === 'chat' ? 'chat' : 'responses'] as const
      }),
    ),
  )

/** The variables of providers that have a package of their own. */
export const PROVIDER_SETTINGS = {
  ...(Object.fromEntries(KEYS.map((name) => [name, key])) as Record<KeyVariable, typeof key>),
  ...(Object.fromEntries(ADDRESSES.map((name) => [name, optional_address])) as Record<
    AddressVariable,
    typeof optional_address
  >),
  AZURE_OPENAI_API_KEY: key,
  AZURE_API_KEY: key,
  AZURE_OPENAI_ENDPOINT: optional_address,
  AZURE_RESOURCE_NAME: label.optional(),
  AZURE_OPENAI_API_VERSION: z
    .string()
    .regex(
      /^(v1|preview|latest|\d{4}-\d{2}-\d{2}(-preview)?)$/,
      'must be a version such as 2025-04-01-preview, or v1',
    )
    .optional(),
  AZURE_OPENAI_DEPLOYMENTS: Deployments.optional(),
  RUNYARD_BEDROCK_REGION: label.optional(),
  AWS_BEARER_TOKEN_BEDROCK: key,
  AWS_ENDPOINT_URL_BEDROCK_RUNTIME: optional_address,
  AWS_ENDPOINT_URL_BEDROCK: optional_address,
  GOOGLE_VERTEX_PROJECT: z
    .string()
    .regex(/^[a-z0-9:.-]{4,100}$/, 'must be the id of a Google Cloud project')
    .optional(),
  GOOGLE_VERTEX_LOCATION: label.optional(),
  GOOGLE_VERTEX_BASE_URL: optional_address,
}
type Variables = z.infer<z.ZodObject<typeof PROVIDER_SETTINGS>> & { AWS_REGION?: string | undefined }

/** `taken`: servers that were given one of the names, and stand in its place. */
export function readProviders(
  env: Variables,
  taken: Readonly<Record<string, EndpointSettings>>,
): CloudSettings & Pick<ModelSettings, 'named'> {
  const named = Object.fromEntries(
    PROVIDER_NAMES.flatMap((name) => {
      const { keys, address } = NAMED_PROVIDERS[name]
      const api_key = keys.map((variable: KeyVariable) => env[variable]).find(Boolean)
      const base_url = env[address]
      if (!api_key || Object.hasOwn(taken, name)) return []
      return [[name, { api_key, ...(base_url && { base_url }) }] as const]
    }),
  )
  const azure = readAzure(env)
  const bedrock = readBedrock(env)
  const vertex = readVertex(env)
  return {
    ...(Object.keys(named).length > 0 && { named }),
    ...(azure && { azure }),
    ...(bedrock && { bedrock }),
    ...(vertex && { vertex }),
  }
}

/** What speaks OpenAI's chat API, so that agents and commands in sandboxes can be led there. */
export function listEndpoints({
  named = {},
  azure,
  endpoints = {},
}: Pick<ModelSettings, 'named' | 'azure' | 'endpoints'>): Record<string, EndpointSettings> {
  const known = PROVIDER_NAMES.flatMap((name) => {
    const settings: NamedSettings | undefined = named[name]
    return settings ? [[name, chatEndpoint(name, settings)] as const] : []
  })
  return {
    ...Object.fromEntries(known),
    ...(azure &&
      !azure.api_version && { azure: { base_url: azureUrl(azure.endpoint), api_key: azure.api_key } }),
    ...endpoints,
  }
}

function readAzure(env: Variables): AzureSettings | null {
  const api_key = env.AZURE_OPENAI_API_KEY ?? env.AZURE_API_KEY
  if (!api_key) return null
  const { AZURE_RESOURCE_NAME: resource, AZURE_OPENAI_DEPLOYMENTS: deployments } = env
  const url = env.AZURE_OPENAI_ENDPOINT ?? (resource && `https://${resource}.openai.azure.com`)
  // The key alone may be meant for something else of Azure's.
  if (!url) {
    if (!env.AZURE_OPENAI_API_KEY) return null
    throw new AppError(
      'invalid_request',
      'AZURE_OPENAI_API_KEY: set AZURE_OPENAI_ENDPOINT too, such as https://acme.openai.azure.com',
    )
  }
  const version = env.AZURE_OPENAI_API_VERSION
  const is_dated = version !== undefined && /^\d/.test(version)
  return {
    api_key,
    // People copy it with the rest of a path.
    endpoint: trim(url).replace(/\/openai(\/.*)?$/, ''),
    ...(is_dated && { api_version: version }),
    ...(deployments && { deployments }),
  }
}

function readBedrock(env: Variables): CloudSettings['bedrock'] | null {
  const { RUNYARD_BEDROCK_REGION: own, AWS_BEARER_TOKEN_BEDROCK: api_key, AWS_REGION: shared } = env
  if (!own && !api_key) return null
  const { AWS_ENDPOINT_URL_BEDROCK_RUNTIME: runtime, AWS_ENDPOINT_URL_BEDROCK: control } = env
  return {
    region: own ?? shared ?? 'us-east-1',
    ...(api_key && { api_key }),
    ...(runtime && { runtime_url: trim(runtime) }),
    ...(control && { control_url: trim(control) }),
  }
}

function readVertex(env: Variables): CloudSettings['vertex'] | null {
  const {
    GOOGLE_VERTEX_PROJECT: project,
    GOOGLE_VERTEX_LOCATION: location,
    GOOGLE_VERTEX_BASE_URL: url,
  } = env
  if (!project) return null
  return { project, location: location ?? 'global', ...(url && { base_url: trim(url) }) }
}

const trim = (url: string): string => url.replace(/\/+$/, '')
