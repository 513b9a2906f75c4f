import type { HarnessTraits } from '../contract/harness-fields.ts'
import type { ModelApi } from '../contract/model.ts'
import type { ModelGate } from './harness.ts'

/** What an agent's launch is made of. */
export interface AgentModel {
  api: ModelApi
  /** As its provider knows it; absent: the agent chooses. */
  id?: string
  /** With the version: what OpenAI's clients take. Others add it themselves. */
  base_url: string
  token: string
}

/** A program that speaks the Agent Client Protocol on its standard streams. */
export interface AcpAgent {
  name: string
  /** Program and arguments. The program is looked for in PATH inside the sandbox. */
  command: readonly string[]
  /** How to get the program, for people who do not have it: goes on from "Install it with". */
  install?: string
  /** What it can be led to speak, what it works best with first. */
  apis: readonly ModelApi[]
  /** The mode of its sessions in which it asks before it acts, where that is not how it is started. */
  mode?: string
  /** It cannot choose a model of its own. */
  needs_model?: true
  /** It cannot be told which. */
  ignores_model?: true
  /** It acts without asking. */
  never_asks?: true
  /** Given whether or not models go by the gateway. */
  env?: Readonly<Record<string, string>>
  /** Leads it to the gateway. */
  modelEnv(model: AgentModel): Record<string, string>
  /** Files below its home that may hold a key; removed when its session ends. */
  credentials?: readonly string[]
}

const modelIn = (variable: string, { id }: AgentModel): Record<string, string> =>
  id === undefined ? {} : { [variable]: id }

const npm = (name: string) => `npm install -g ${name}`

/**
 * The agents that are known by name; tried with the versions in `test/long-tools`. They are to ask before they act, where they can:
 * a call is stored before it is allowed. None is to sandbox its commands once more.
 */
export const ACP_AGENTS: readonly AcpAgent[] = [
  {
    name: 'claude',
    command: ['claude-agent-acp'],
    install: npm('@agentclientprotocol/claude-agent-acp'),
    apis: ['anthropic'],
    mode: 'default',
    env: { IS_SANDBOX: '1', DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
    modelEnv: (model) => ({
      ANTHROPIC_BASE_URL: model.base_url,
      ANTHROPIC_API_KEY: model.token,
      ...modelIn('ANTHROPIC_MODEL', model),
    }),
    credentials: ['.claude/.credentials.json'],
  },
  {
    name: 'codex',
    command: ['codex-acp'],
    install: npm('@agentclientprotocol/codex-acp'),
    apis: ['openai'],
    never_asks: true,
    env: {
      DEFAULT_AUTH_REQUEST: '{"methodId":"api-key"}',
      INITIAL_AGENT_MODE: 'agent-full-access',
      NO_BROWSER: '1',
    },
    modelEnv: (model) => ({
      OPENAI_API_KEY: model.token,
      CODEX_API_KEY: model.token,
      MODEL_PROVIDER: 'runyard',
      CODEX_CONFIG: JSON.stringify({
        ...(model.id === undefined ? {} : { model: model.id }),
        model_provider: 'runyard',
        model_providers: {
          runyard: {
            name: 'Runyard',
            base_url: model.base_url,
            env_key: 'CODEX_API_KEY',
            wire_api: 'responses',
          },
        },
      }),
    }),
    credentials: ['.codex/auth.json'],
  },
  {
    name: 'gemini',
    command: ['gemini', '--acp', '--approval-mode', 'default'],
    install: npm('@google/gemini-cli'),
    apis: ['google'],
    env: {
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
      GEMINI_DEFAULT_AUTH_TYPE: 'gemini-api-key',
      // What a command prints on a terminal it does not tell.
      GEMINI_PTY_INFO: 'child_process',
    },
    modelEnv: (model) => ({
      GOOGLE_GEMINI_BASE_URL: model.base_url,
      GEMINI_API_KEY: model.token,
      ...modelIn('GEMINI_MODEL', model),
    }),
    credentials: ['.gemini/oauth_creds.json'],
  },
  {
    name: 'opencode',
    command: ['opencode', 'acp'],
    install: npm('opencode-ai'),
    apis: ['anthropic', 'openai', 'google'],
    needs_model: true,
    env: {
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    },
    modelEnv: (model) => ({ OPENCODE_CONFIG_CONTENT: JSON.stringify(opencodeConfig(model)) }),
    credentials: ['.local/share/opencode/auth.json'],
  },
  {
    name: 'qwen',
    command: ['qwen', '--acp', '--auth-type', 'openai', '--approval-mode', 'default'],
    install: npm('@qwen-code/qwen-code'),
    apis: ['openai'],
    needs_model: true,
    modelEnv: (model) => ({
      OPENAI_BASE_URL: model.base_url,
      OPENAI_API_KEY: model.token,
      ...modelIn('OPENAI_MODEL', model),
    }),
    credentials: ['.qwen/oauth_creds.json'],
  },
  {
    name: 'goose',
    command: ['goose', 'acp'],
    install: npm('@aaif/goose-binary-linux-x64'),
    apis: ['anthropic', 'openai', 'google'],
    needs_model: true,
    env: { GOOSE_MODE: 'approve', GOOSE_DISABLE_KEYRING: '1' },
    modelEnv: (model) => ({ GOOSE_PROVIDER: model.api, ...gooseEnv(model) }),
  },
]

/** Its own names of providers would have it use APIs that not every server has. */
function opencodeConfig(model: AgentModel) {
  const { api, id = '', base_url: address, token } = model
  const npm = {
    openai: '@ai-sdk/openai-compatible',
    anthropic: '@ai-sdk/anthropic',
    google: '@ai-sdk/google',
  }[api]
  const baseURL = { openai: address, anthropic: `${address}/v1`, google: `${address}/v1beta` }[api]
  return {
    ...{ autoupdate: false, share: 'disabled', enabled_providers: ['runyard'] },
    ...{ model: `runyard/${id}`, small_model: `runyard/${id}` },
    permission: { edit: 'ask', bash: 'ask', webfetch: 'ask' },
    provider: {
      runyard: { name: 'Runyard', npm, options: { baseURL, apiKey: token }, models: { [id]: {} } },
    },
  }
}

function gooseEnv(model: AgentModel): Record<string, string> {
  const key = { openai: 'OPENAI_API_KEY', anthropic: 'ANTHROPIC_API_KEY', google: 'GOOGLE_API_KEY' }
  const host = { openai: 'OPENAI_HOST', anthropic: 'ANTHROPIC_HOST', google: 'GOOGLE_HOST' }
  // It adds the version itself.
  const base_url = model.base_url.replace(/\/v1$/, '')
  return {
    [host[model.api]]: base_url,
    [key[model.api]]: model.token,
    ...modelIn('GOOSE_MODEL', model),
  }
}

export const traitsOf = ({ name, apis, ignores_model, never_asks }: AcpAgent): HarnessTraits => ({
  ...{ name, kind: 'agent', apis },
  takes_model: apis.length > 0 && !ignores_model,
  asks: !never_asks,
})

/** An agent of the operator's own, as `RUNYARD_ACP_AGENTS` gives it. */
export interface CustomAgent {
  command: readonly string[]
  /** `{model}`, `{token}` and `{base_url}` in a value stand for those of the run. */
  env?: Readonly<Record<string, string>> | undefined
  /** Whose API it calls models by; absent: none by the gateway. */
  provider?: ModelApi | undefined
}

/** One that has the name of a known agent takes its place. */
export function listAgents(custom: Readonly<Record<string, CustomAgent>>): AcpAgent[] {
  const own = Object.entries(custom).map(([name, agent]) => openCustom(name, agent))
  return [...ACP_AGENTS.filter(({ name }) => !Object.hasOwn(custom, name)), ...own]
}

function openCustom(name: string, { command, env = {}, provider }: CustomAgent): AcpAgent {
  const is_filled = ([, value]: [string, string]) => PLACE.test(value)
  const [filled, plain] = [
    Object.entries(env).filter(is_filled),
    Object.entries(env).filter((entry) => !is_filled(entry)),
  ]
  return {
    ...{ name, command, apis: provider ? [provider] : [], env: Object.fromEntries(plain) },
    ...(filled.some(([, value]) => value.includes('{model}'))
      ? { needs_model: true }
      : { ignores_model: true }),
    modelEnv: ({ id = '', token, base_url }) => {
      const values: Record<string, string> = { '{model}': id, '{token}': token, '{base_url}': base_url }
      const fill = (text: string) => text.replace(new RegExp(PLACE, 'g'), (place) => values[place] ?? '')
      return Object.fromEntries(filled.map(([key, value]) => [key, fill(value)]))
    },
  }
}

const PLACE = /\{(?:model|token|base_url)\}/

/** `null`: none of its providers goes by the gateway here. */
export function gateOf(
  gate: ModelGate | undefined,
  provider: string,
): Pick<AgentModel, 'base_url' | 'token'> | null {
  const base_url = gate?.base_urls[provider]
  return gate && base_url !== undefined ? { base_url, token: gate.token } : null
}
