import type { LanguageModel } from 'ai'
import { NoCredentials } from './broken-answer.ts'
import type { Provider, ProviderOptions } from './providers.ts'

/** Azure's OpenAI service: models are called by the names of their deployments. */
export interface AzureSettings {
  api_key: string
  /** Without a path, as in `https://acme.openai.azure.com`. */
  endpoint: string
  /** A dated one, for resources without the `v1` API: then addresses have the deployment in them. */
  api_version?: string
  /** By name; `chat`: it has no API of responses, as what is not OpenAI's. */
  deployments?: Readonly<Record<string, 'responses' | 'chat'>>
}

export interface BedrockSettings {
  region: string
  /** In place of what the machine has: variables, profiles, roles. */
  api_key?: string
  /** Addresses within a private network. */
  runtime_url?: string
  control_url?: string
}

export interface VertexSettings {
  project: string
  /** `global`, or a region. */
  location: string
  /** Without a path, in place of Google's own address. */
  base_url?: string
}

export interface CloudSettings {
  azure?: AzureSettings
  bedrock?: BedrockSettings
  vertex?: VertexSettings
}

/** In the order in which a default is looked for. Their credentials stay in the process that makes the calls. */
export const openClouds = ({ azure, bedrock, vertex }: CloudSettings): Provider[] => [
  ...(azure ? [openAzure(azure)] : []),
  ...(bedrock ? [openBedrock(bedrock)] : []),
  ...(vertex ? [openVertex(vertex)] : []),
]

type Model = Exclude<LanguageModel, string>
const NO_OPTIONS = (): ProviderOptions => ({})

const keepOwn = async (model: Model, model_id: string): Promise<Model> =>
  (await import('./own-reasoning.ts')).keepOwnReasoning(model, model_id, true)

/** Where the API is that OpenAI's own clients speak, too. */
export const azureUrl = (endpoint: string): string => `${endpoint}/openai/v1`

function openAzure({ api_key, endpoint, api_version, deployments = {} }: AzureSettings): Provider {
  const baseURL = api_version ? `${endpoint}/openai` : azureUrl(endpoint)
  const version = api_version ? { useDeploymentBasedUrls: true, apiVersion: api_version } : {}
  const names = Object.keys(deployments)
  return {
    listing: {
      ...{ provider: 'azure', base_url: azureUrl(endpoint), format: 'openai' },
      headers: { 'api-key': api_key },
      // Azure lists what could be deployed, and not what is.
      only: names,
    },
    async openModel(id, fetch) {
      const { createAzure } = await import('@ai-sdk/azure')
      const azure = createAzure({ apiKey: api_key, baseURL, fetch, ...version })
      const has_responses = !api_version && deployments[id] !== 'chat'
      return keepOwn(has_responses ? azure.responses(id) : azure.chat(id), `azure/${id}`)
    },
    // The log is the only memory: nothing is kept there.
    provider_options: () => ({ azure: { store: false }, openai: { store: false } }),
    is_public: names.length === 0,
  }
}

function openBedrock({ region, api_key, runtime_url, control_url }: BedrockSettings): Provider {
  const runtime = runtime_url ?? `https://bedrock-runtime.${region}.amazonaws.com`
  const control = control_url ?? `https://bedrock.${region}.amazonaws.com`
  let chain: Promise<() => Promise<{ accessKeyId: string; secretAccessKey: string; sessionToken?: string }>>
  /** As Amazon's own tools look for them: variables, profiles, roles of containers and machines. It keeps them until they expire. */
  const credentials = async () => {
    try {
      chain ??= import('@aws-sdk/credential-provider-node').then(({ defaultProvider }) => defaultProvider())
      return await (await chain)()
    } catch (error) {
      throw new NoCredentials('Amazon Bedrock', (error as Error).message)
    }
  }
  return {
    listing: {
      ...{ provider: 'bedrock', base_url: runtime, list_url: control, format: 'bedrock', headers: {} },
      async authorize(url) {
        if (api_key) return { authorization: `Bearer ${api_key}` }
        const { AwsV4Signer } = await import('aws4fetch')
        const signer = new AwsV4Signer({
          url,
          method: 'GET',
          service: 'bedrock',
          region,
          ...(await credentials()),
        })
        return Object.fromEntries((await signer.sign()).headers)
      },
    },
    async openModel(id, fetch) {
      const { createAmazonBedrock } = await import('@ai-sdk/amazon-bedrock')
      const access = api_key ? { apiKey: api_key } : { credentialProvider: credentials }
      const bedrock = createAmazonBedrock({ region, baseURL: runtime, fetch, ...access })
      const { askFirst, markCache } = await import('./cloud-models.ts')
      const model = markCache(await keepOwn(bedrock(id), `bedrock/${id}`), id)
      // The package tells of what goes wrong there in words of its own, without its kind.
      return api_key ? model : askFirst(model, credentials)
    },
    provider_options: NO_OPTIONS,
    is_public: true,
    is_binary: true,
  }
}

function openVertex({ project, location, base_url }: VertexSettings): Provider {
  const root = base_url ?? `https://${hostOf(location)}`
  const place = `projects/${project}/locations/${location}`
  const findClient = async () => {
    const { GoogleAuth } = await import('google-auth-library')
    return new GoogleAuth({ scopes: ['https://www.googleapis.com/auth/cloud-platform'] }).getClient()
  }
  let client: ReturnType<typeof findClient> | undefined
  /** Of the machine, of a file that `GOOGLE_APPLICATION_CREDENTIALS` names, or of a person's `gcloud`. */
  const authenticate = async () => {
    try {
      client ??= findClient()
      const found = await client
      // With the project that pays, where the credentials name one.
      return { client: found, headers: await found.getRequestHeaders() }
    } catch (error) {
      client = undefined
      throw new NoCredentials('Google Vertex', (error as Error).message)
    }
  }
  return {
    listing: {
      ...{ provider: 'vertex', base_url: root, list_url: `${root}/v1beta1`, format: 'vertex', headers: {} },
      authorize: async () => Object.fromEntries((await authenticate()).headers),
    },
    async openModel(id, fetch) {
      const { client: authClient } = await authenticate()
      const settings = { project, location, fetch, googleAuthOptions: { authClient } }
      const { askFirst } = await import('./cloud-models.ts')
      const open = async (): Promise<Model> => {
        if (id.startsWith('claude-')) {
          const { createVertexAnthropic } = await import('@ai-sdk/google-vertex/anthropic')
          return createVertexAnthropic({
            ...settings,
            baseURL: `${root}/v1/${place}/publishers/anthropic/models`,
          })(id)
        }
        // Of others, as in `meta/llama-4-maverick-17b-128e-instruct-maas`.
        if (/^[\w.-]+\/.+-maas$/.test(id)) {
          const { createVertexMaas } = await import('@ai-sdk/google-vertex/maas')
          return createVertexMaas({ ...settings, baseURL: `${root}/v1/${place}/endpoints/openapi` })(id)
        }
        const { createVertex } = await import('@ai-sdk/google-vertex')
        return createVertex({ ...settings, baseURL: `${root}/v1beta1/${place}/publishers/google` })(id)
      }
      return askFirst(await keepOwn(await open(), `vertex/${id}`), authenticate)
    },
    provider_options: (id) =>
      id.startsWith('claude-') ? { anthropic: { cacheControl: { type: 'ephemeral' } } } : {},
    is_public: true,
  }
}

/** https://cloud.google.com/vertex-ai/generative-ai/docs/learn/locations */
function hostOf(location: string): string {
  if (location === 'global') return 'aiplatform.googleapis.com'
  return location === 'eu' || location === 'us'
    ? `aiplatform.${location}.rep.googleapis.com`
    : `${location}-aiplatform.googleapis.com`
}
