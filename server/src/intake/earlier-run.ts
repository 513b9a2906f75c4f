import type { Actor } from '../contract/actor.ts'
import type { AmbientAgentConfig } from '../contract/agent-config.ts'
import { AppError } from '../contract/error.ts'
import type { RunAgentRequest } from '../contract/run-request.ts'
import type { Keyring } from '../sealing/keyring.ts'
import { unseal } from '../sealing/sealing.ts'
import { readPromptAttachments, type StoredAttachment } from '../store/attachments.ts'
import type { Db } from '../store/db.ts'
import { requireUnmasked } from '../store/grants.ts'
import { findRun, type RunRow } from '../store/runs.ts'
import { findMasked, revealConfig } from './config-secrets.ts'

export interface EarlierServices {
  db: Db
  seal_key: Keyring
}

/** A request that begins with an earlier run. */
export interface TakenOver {
  /** As if everything had been said in it, but for files. */
  request: RunAgentRequest
  /** That came with the earlier prompt, where the request brings none. */
  files: StoredAttachment[]
}

/** The earlier run's request with what is asked otherwise in its place. Throws where the caller may not have what it takes. */
export async function replayRun(
  services: EarlierServices,
  asked: RunAgentRequest,
  actor: Actor,
): Promise<TakenOver | null> {
  const { replay_of_run_id } = asked
  if (replay_of_run_id === undefined) return null
  const source = await findRun(services.db, replay_of_run_id, actor)
  if (!source) throw new AppError('resource_not_found', 'replay_of_run_id: there is no run with this id.')
  const request = takeOver(services, source, asked, actor, 'replay')
  const prompt = asked.prompt ?? source.prompt
  const title = asked.title ?? (asked.prompt === undefined ? source.title : undefined)
  if (!prompt.trim() && !source.skill_spec && !namesSkill(asked))
    throw new AppError('invalid_request', 'prompt: is empty, and there is no skill.')
  const files = asked.attachments ? [] : await readPromptAttachments(services.db, source.run_id)
  if (files.length > 0) await requireUnmasked(services.db, actor, source, 'workspace')
  return { request: { ...request, prompt, ...(title === undefined ? {} : { title }) }, files }
}

/** All but the prompt, its title and its files. `as`: what the new run is, for people. */
export function takeOver(
  services: EarlierServices,
  source: RunRow,
  asked: RunAgentRequest,
  actor: Actor,
  as: string,
): RunAgentRequest {
  if (asked.team && source.scope === 'User') {
    const detail = `team: the earlier run is personal, so its ${as} is personal too; leave team out.`
    throw new AppError('invalid_request', detail)
  }
  const { skill, mode, agent_identity_uid, interactive, output_schema, budget } = source.request
  const given = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined))
  return {
    ...(skill === undefined || namesSkill(asked) ? {} : { skill }),
    ...(mode === undefined ? {} : { mode }),
    ...(agent_identity_uid === undefined ? {} : { agent_identity_uid }),
    ...(interactive === undefined ? {} : { interactive }),
    ...(output_schema === undefined ? {} : { output_schema }),
    ...(budget === undefined ? {} : { budget }),
    ...(source.scope === 'User' ? { team: false } : {}),
    priority: source.priority,
    metadata: source.metadata,
    ...given,
    config: reveal(services, source, mergeConfig(source.config, asked), actor),
  }
}

const namesSkill = ({ skill, config }: RunAgentRequest): boolean =>
  (skill ?? config?.skill_spec ?? config?.skills?.[0]) !== undefined

/** Field by field, but that a skill takes the place of a skill, and models go with their harness. */
function mergeConfig(before: AmbientAgentConfig, asked: RunAgentRequest): AmbientAgentConfig {
  const { config: given = {} } = asked
  const { skill_spec, skills, harness, model_id, fallback_model_ids, ...others } = before
  const kept = keepPlace(others, given)
  const stays = !given.harness || (given.harness.type ?? 'oz') === (harness?.type ?? 'oz')
  const merged = given.harness ?? harness
  return {
    ...kept,
    ...(skill_spec === undefined || namesSkill(asked) ? {} : { skill_spec }),
    ...(skills === undefined || namesSkill(asked) ? {} : { skills }),
    ...(model_id === undefined || !stays ? {} : { model_id }),
    ...(fallback_model_ids === undefined || !stays ? {} : { fallback_model_ids }),
    ...given,
    ...(merged === undefined
      ? {}
      : {
          harness:
            given.model_id !== undefined && !given.harness && merged.model_id !== undefined
              ? { ...merged, model_id: given.model_id }
              : merged,
        }),
  }
}

/** Where a run works is its environment, or its repositories without one: what is asked for takes the place of either. */
function keepPlace(before: AmbientAgentConfig, given: AmbientAgentConfig): AmbientAgentConfig {
  const { environment_id, repositories, ...kept } = before
  const is_moved = given.environment_id !== undefined || given.repositories !== undefined
  return {
    ...kept,
    ...(environment_id === undefined || is_moved ? {} : { environment_id }),
    ...(repositories === undefined || is_moved ? {} : { repositories }),
  }
}

/** Values that nobody is shown are for whoever started the earlier run with them, and for nobody else. */
function reveal(
  { seal_key }: EarlierServices,
  source: RunRow,
  config: AmbientAgentConfig,
  actor: Actor,
): AmbientAgentConfig {
  const is_own = source.creator_id === actor.principal_id
  const masked = is_own ? null : findMasked(config)
  if (masked !== null)
    throw new AppError(
      'not_authorized',
      `config.mcp_servers.${masked}: its values are of somebody else, who started the earlier run. Give config.mcp_servers with values of your own, or {} for none.`,
    )
  const secrets = is_own && source.sealed ? unseal(seal_key, source.run_id, source.sealed) : {}
  return revealConfig(config, { config: source.config, secrets }, 'config')
}
