import type { Actor } from '../contract/actor.ts'
import { AppError } from '../contract/error.ts'
import type { RunSourceType } from '../contract/run.ts'
import { PROMPT_MAX_BYTES, TITLE_MAX_LENGTH } from '../contract/run-request.ts'
import type {
  CreateTriggerRequest,
  TriggerReply,
  TriggerVerification,
  UpdateTriggerRequest,
} from '../contract/trigger.ts'
import { checkFilter } from '../schema/check-filter.ts'
import { openTriggerSecrets, sealTriggerSecrets } from '../sealing/trigger-secrets.ts'
import { makeWebhookSecret } from '../sealing/webhook-secrets.ts'
import { requireGrants } from '../store/grants.ts'
import type { NewRun } from '../store/new-runs.ts'
import { readSecrets } from '../store/secrets.ts'
import type { KeptPayload } from '../store/trigger-deliveries.ts'
import type { TriggerContent, TriggerRow, TriggerTemplate } from '../store/triggers.ts'
import { maskConfig, revealConfig } from './config-secrets.ts'
import { fillText } from './fill-text.ts'
import type { RunServices } from './new-run.ts'
import { resolveTemplate } from './template.ts'

/** Which trigger is written, by whom, and what there is of it. */
export interface TriggerEdit {
  trigger_id: string
  actor: Actor
  scope: 'User' | 'Team'
  before: TriggerRow | null
  /** Whether a git host speaks GitHub's API. */
  isGitHub: (host: string) => boolean
}

const SOURCES: Record<TriggerVerification, RunSourceType> = {
  standard_webhooks: 'API',
  github: 'GITHUB_WEBHOOK',
  gitlab: 'GITLAB_WEBHOOK',
  slack: 'SLACK',
  linear: 'LINEAR',
}

/** Throws where the filter is none, and says where. Takes a thread: to be asked outside of transactions. */
export async function requireFilter(
  filter: string | undefined,
  { principal_id }: Pick<Actor, 'principal_id'>,
): Promise<void> {
  const wrong = filter === undefined ? null : await checkFilter(filter, principal_id)
  if (wrong !== null) throw new AppError('invalid_request', `filter: ${wrong}`)
}

/** What is stored of a trigger. Throws, naming the field, where a run like its runs would be refused. */
export async function resolveTrigger(
  services: RunServices,
  asked: CreateTriggerRequest | UpdateTriggerRequest,
  { trigger_id, actor, scope, before, isGitHub }: TriggerEdit,
): Promise<TriggerContent> {
  const { seal_key } = services
  const kept = before ? openTriggerSecrets(seal_key, trigger_id, before.sealed) : null
  const secret = asked.secret ?? kept?.secret ?? makeWebhookSecret()
  requireSecret(asked.verification, secret)
  const template: TriggerTemplate = {
    name: asked.name,
    verification: asked.verification,
    filter: asked.filter ?? null,
    on_open_run: asked.on_open_run ?? 'followup',
    prompt: asked.prompt ?? '',
    title: asked.title?.trim() || null,
    mode: asked.mode ?? null,
    config: revealConfig(
      asked.agent_config ?? {},
      { config: before?.config ?? {}, secrets: kept?.values ?? {} },
      'agent_config',
    ),
    metadata: asked.metadata ?? {},
    priority: asked.priority ?? null,
    budget: asked.budget ?? null,
    output_schema: asked.output_schema ?? null,
    agent_uid: asked.agent_uid ?? null,
    reply: asked.reply ?? null,
  }
  if (asked.reply) await requireReplySecret(services, asked.reply, { actor, scope, isGitHub })
  const run = await resolveTemplate(services, { ...template, scope }, actor, SOURCES[template.verification])
  const { config, secrets } = maskConfig({
    ...template.config,
    // Not the one of an identity, which may get another.
    environment_id: template.config.environment_id && (run.environment_id ?? undefined),
  })
  return {
    ...template,
    config,
    sealed: sealTriggerSecrets(seal_key, trigger_id, { secret, values: secrets }),
    enabled: asked.enabled ?? true,
  }
}

/** The service posts with it: it must be a token for GitHub that the trigger's runs could have, too. */
async function requireReplySecret(
  { db }: RunServices,
  { secret: name }: TriggerReply,
  { actor, scope, isGitHub }: Pick<TriggerEdit, 'actor' | 'scope' | 'isGitHub'>,
): Promise<void> {
  const [secret] = await readSecrets(db, [name], { ...actor, personal: scope === 'User' })
  // Where there is none it may be for others.
  if (!secret || secret.owner_id === null) await requireGrants(db, actor, 'secret', [name])
  const wrong = !secret
    ? `there is no secret ${name}.`
    : !secret.git
      ? `${name} is no token of git: set it with its host.`
      : secret.git.read_only
        ? `${name} is read-only.`
        : isGitHub(secret.git.host)
          ? null
          : `${secret.git.host} is not known to be a GitHub host; the operator names it in RUNYARD_GIT_HOSTS.`
  if (wrong !== null) throw new AppError('invalid_request', `reply.secret: ${wrong}`)
}

/** Standard Webhooks sign with bytes, which the secret has in Base64. (https://www.standardwebhooks.com) */
function requireSecret(verification: TriggerVerification, secret: string): void {
  if (verification !== 'standard_webhooks') return
  const base64 = secret.replace(/^whsec_/, '')
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.toString('base64') === base64 && bytes.length >= 16) return
  const detail =
    'secret: Standard Webhooks take "whsec_" and at least 16 bytes in Base64. Leave it out to have one made.'
  throw new AppError('invalid_request', detail)
}

/** The prompt for what was sent. */
export const fillPrompt = ({ prompt }: Pick<TriggerTemplate, 'prompt'>, sent: KeptPayload): string =>
  fillText(prompt, sent, PROMPT_MAX_BYTES)

/** The run that a delivery starts. Throws what a create of it would be refused with. */
export async function resolveTriggeredRun(
  services: RunServices,
  trigger: TriggerRow,
  actor: Actor,
  { delivery_id, prompt, sent }: { delivery_id: string; prompt: string; sent: KeptPayload },
): Promise<NewRun> {
  const { trigger_id, sealed, verification } = trigger
  const { values: secrets } = openTriggerSecrets(services.seal_key, trigger_id, sealed)
  const config = revealConfig(trigger.config, { config: trigger.config, secrets }, 'agent_config')
  if (!prompt.trim() && !config.skill_spec && !config.skills?.[0])
    throw new AppError('invalid_request', 'prompt: nothing is left of it once its fields are filled in.')
  const title = trigger.title === null ? null : titleOf(fillText(trigger.title, sent, 4 * TITLE_MAX_LENGTH))
  const run = await resolveTemplate(
    services,
    { ...trigger, config, prompt, title },
    actor,
    SOURCES[verification],
  )
  return { ...run, trigger: { trigger_id, delivery_id } }
}

/** On one line, and not longer than a title may be. */
const titleOf = (text: string): string =>
  text
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, TITLE_MAX_LENGTH)
    .replace(/[\ud800-\udbff]$/, '')
