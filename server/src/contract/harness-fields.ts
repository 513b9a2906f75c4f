import type { AmbientAgentConfig } from './agent-config.ts'
import { MODEL_APIS, type ModelApi } from './model.ts'
import type { RunAgentRequest } from './run-request.ts'

/** What decides which fields of a request a harness can honour. */
export interface HarnessTraits {
  name: string
  kind: 'loop' | 'agent' | 'runbook'
  /** Whose models it calls by the gateway; empty: none, so nothing counts what it uses. */
  apis: readonly ModelApi[]
  /** It can be told which model to use. */
  takes_model: boolean
  /** It asks before it acts, so that rules can decide. */
  asks: boolean
}

export const REASONING_LEVELS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

export const LOOP: HarnessTraits = {
  ...{ name: 'oz', kind: 'loop', apis: MODEL_APIS, takes_model: true, asks: true },
}
export const RUNBOOK: HarnessTraits = {
  ...{ name: 'runbook', kind: 'runbook', apis: [], takes_model: false, asks: false },
}

export type FieldsRequest = Pick<RunAgentRequest, 'output_schema' | 'budget' | 'config'>

/** A field that some harness cannot honour. All others of a request are honoured with every harness, or with none. */
interface HarnessField {
  field: string
  /** Whether the request asks for something by it: what is empty asks for nothing. */
  isGiven(request: FieldsRequest): boolean
  /** Why the harness cannot honour it: goes on from "the harness X"; `null`: it can. */
  whyNot(harness: HarnessTraits, request: FieldsRequest): string | null
}

const NO_AGENT = 'runs the shell blocks of a prompt, and has no agent'

const modelOf = ({ takes_model, apis, kind }: HarnessTraits, asked = ''): string | null => {
  if (kind === 'runbook') return `${NO_AGENT} that could use a model`
  if (!takes_model) return 'does not let you choose its model'
  const [provider, ...rest] = asked.split('/')
  const api = MODEL_APIS.find((known) => known === provider)
  // Any other name is one of a server, or of the agent's own: whoever executes the run knows them.
  if (api === undefined || rest.length === 0 || apis.includes(api)) return null
  return `calls models of ${apis.join(', ')} and not of ${api}`
}

/** Whether the model can change in the middle of a run. */
export const keepsModel = ({ kind }: HarnessTraits): string | null => {
  if (kind === 'loop') return null
  return kind === 'runbook' ? `${NO_AGENT} that could use a model` : 'keeps the model it was started with'
}

const reasoningOf = ({ kind }: HarnessTraits, level = ''): string | null => {
  if (kind === 'runbook') return `${NO_AGENT} that could reason`
  if (kind === 'agent') return "has no level of reasoning to be set: that is in the agent's own files"
  return REASONING_LEVELS.some((known) => known === level)
    ? null
    : `knows the levels ${REASONING_LEVELS.join(', ')}`
}

const countOf = ({ kind, apis }: HarnessTraits): string | null =>
  kind === 'agent' && apis.length === 0
    ? 'calls no model by the gateway, so nothing counts what it uses; use max_duration_minutes'
    : null

const agentOf =
  (wanted: string) =>
  ({ kind }: HarnessTraits): string | null =>
    kind === 'runbook' ? `${NO_AGENT} ${wanted}` : null

const hasRules = ({ permissions = [] }: AmbientAgentConfig): boolean =>
  permissions.some(({ action }) => action !== 'allow')

/** The table of `docs/harnesses.md`, which is compared with it. */
export const HARNESS_FIELDS: readonly HarnessField[] = [
  {
    field: 'output_schema',
    isGiven: ({ output_schema }) => output_schema !== undefined,
    whyNot: agentOf('that could hand in a result'),
  },
  {
    field: 'budget.max_tokens',
    isGiven: ({ budget }) => budget?.max_tokens !== undefined,
    whyNot: countOf,
  },
  {
    field: 'budget.max_cost_usd',
    isGiven: ({ budget }) => budget?.max_cost_usd !== undefined,
    whyNot: countOf,
  },
  {
    field: 'config.model_id',
    isGiven: ({ config }) => Boolean(config?.model_id),
    whyNot: (harness, { config }) => modelOf(harness, config?.model_id),
  },
  {
    field: 'config.harness.model_id',
    isGiven: ({ config }) => Boolean(config?.harness?.model_id),
    whyNot: (harness, { config }) => modelOf(harness, config?.harness?.model_id),
  },
  {
    field: 'config.fallback_model_ids',
    isGiven: ({ config }) => (config?.fallback_model_ids?.length ?? 0) > 0,
    whyNot: keepsModel,
  },
  {
    field: 'config.harness.reasoning_level',
    isGiven: ({ config }) => config?.harness?.reasoning_level !== undefined,
    whyNot: (harness, { config }) => reasoningOf(harness, config?.harness?.reasoning_level),
  },
  {
    field: 'config.base_prompt',
    isGiven: ({ config }) => Boolean(config?.base_prompt?.trim()),
    whyNot: agentOf('that could read it'),
  },
  {
    field: 'config.skills',
    // The first is like `skill`.
    isGiven: ({ config }) => (config?.skills?.length ?? 0) > 1,
    whyNot: agentOf('that more than one skill could be attached to'),
  },
  {
    field: 'config.mcp_servers',
    isGiven: ({ config }) => Object.keys(config?.mcp_servers ?? {}).length > 0,
    whyNot: agentOf('that could use tools'),
  },
  {
    field: 'config.permissions',
    isGiven: ({ config = {} }) => hasRules(config),
    whyNot: ({ kind, asks }) =>
      kind === 'runbook'
        ? `${NO_AGENT} that could ask`
        : asks
          ? null
          : 'never asks before it acts, so no rule can decide; limit it by its environment',
  },
]

/** What a request asks for that its harness cannot honour, each with the reason; `only`: of these fields. */
export function findUnhonoured(
  harness: HarnessTraits,
  request: FieldsRequest,
  only?: readonly string[],
): string[] {
  return HARNESS_FIELDS.flatMap(({ field, isGiven, whyNot }) => {
    if ((only && !only.includes(field)) || !isGiven(request)) return []
    const why = whyNot(harness, request)
    return why === null ? [] : [`${field}: the harness ${harness.name} ${why}.`]
  })
}

/** Why the harness would not obey the rules of an environment, as `findUnhonoured` says it; empty: it would. */
export const findUnenforced = (
  harness: HarnessTraits,
  { permissions = [] }: Pick<AmbientAgentConfig, 'permissions'>,
): string[] =>
  findUnhonoured(harness, { config: { permissions } }).map((text) =>
    text.replace('config.permissions', 'permissions of the environment'),
  )
