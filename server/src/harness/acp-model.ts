import type { AmbientAgentConfig } from '../contract/agent-config.ts'
import { apiOf, MODEL_APIS, type ModelApi } from '../contract/model.ts'
import { type AcpAgent, type AgentModel, gateOf } from './acp-agents.ts'
import type { Execution, ModelGate } from './harness.ts'
import { available, type Models } from './models.ts'

const isApi = (name: string): name is ModelApi => MODEL_APIS.some((api) => api === name)

/** `provider/id`, or neither where the agent is to choose for itself. */
export type ChosenModel = { provider: string; id?: string } | null

/** The model that an agent is to use; the reason of a refusal is for people. */
export async function chooseModel(
  agent: AcpAgent,
  models: Models,
  config: AmbientAgentConfig,
): Promise<ChosenModel | { reason: string }> {
  const asked = config.harness?.model_id ?? config.model_id
  const [first] = agent.apis
  if (first === undefined) return null
  if (asked !== undefined) return findAsked(agent, models, asked)
  const preset = split(await models.resolve())
  if (preset && takes(agent, preset.provider)) return preset
  if (!agent.needs_model) return { provider: first }
  const listed = (await models.list()).find(({ provider }) => takes(agent, provider))
  const found = listed && split(listed)
  if (found) return found
  return {
    reason: `The agent ${agent.name} needs a model of ${names(agent)}: set config.model_id. ${available(await models.list())}`,
  }
}

async function findAsked(
  agent: AcpAgent,
  models: Models,
  asked: string,
): Promise<ChosenModel | { reason: string }> {
  const [provider = '', ...rest] = asked.split('/')
  const refusal = {
    reason: `The agent ${agent.name} calls models of ${names(agent)}, so it cannot use ${asked}.`,
  }
  if (isApi(provider) && rest.length > 0)
    return takes(agent, provider) ? { provider, id: rest.join('/') } : refusal
  const found = split(await models.resolve(asked))
  if (found && takes(agent, found.provider)) return found
  if (found?.provider === provider) return refusal
  // Agents have short names of their own for models, which no provider lists.
  const [first] = agent.apis
  return first ? { provider: first, id: asked } : null
}

function split(resolved: { model_id: string } | { reason: string }): { provider: string; id: string } | null {
  if ('reason' in resolved) return null
  const [provider = '', ...rest] = resolved.model_id.split('/')
  return { provider, id: rest.join('/') }
}

const takes = ({ apis }: AcpAgent, provider: string): boolean => apis.some((api) => api === apiOf(provider))

const names = ({ apis }: AcpAgent): string =>
  apis.map((api) => (api === 'openai' ? 'openai and servers with its API' : api)).join(', ')

export const nameModel = (chosen: ChosenModel): string | undefined =>
  chosen?.id === undefined ? undefined : `${chosen.provider}/${chosen.id}`

const KEYS = { openai: 'OPENAI_API_KEY', anthropic: 'ANTHROPIC_API_KEY', google: 'GEMINI_API_KEY' }

/** The variable of a key that would lead the agent to its model, where nothing does. */
export function findMissingKey(
  chosen: ChosenModel,
  { models, values }: Pick<Execution, 'models' | 'values'>,
): string | undefined {
  if (!chosen || !isApi(chosen.provider) || gateOf(models, chosen.provider)) return undefined
  const variable = KEYS[chosen.provider]
  return Object.hasOwn(values, variable) ? undefined : variable
}

/** Leads the agent to its model; without a way to it, what the environment gives has to do. */
export function modelEnv(
  agent: AcpAgent,
  chosen: ChosenModel,
  gate: ModelGate | undefined,
): Record<string, string> {
  const way = chosen && gateOf(gate, chosen.provider)
  const api = chosen && apiOf(chosen.provider)
  return chosen && way && api ? agent.modelEnv({ ...chosen, ...way, api } satisfies AgentModel) : {}
}
