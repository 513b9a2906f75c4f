import type { CreateTriggerRequest, Trigger, UpdateTriggerRequest } from '@runyard/client'
import { choiceOf, configOf } from '../new-run/agent-choice.ts'
import { budgetFormOf, budgetOf } from '../new-run/budget.ts'
import { areReadable, type Details } from '../new-run/details.ts'
import { objectOf, writeObject } from '../new-run/json-object.ts'
import { readMetadata, writeMetadata } from '../new-run/metadata.ts'

export type Verification = Trigger['verification']

/** The fields of a trigger that its form shows, as they were typed. What it does not show is kept as it was. */
export interface TriggerForm extends Details {
  name: string
  verification: Verification
  /** Of the sender; empty, one is made, or the one there is stays. */
  secret: string
  filter: string
  prompt: string
  title: string
  skill: string
  on_open_run: Trigger['on_open_run']
  /** Name of the secret that answers on GitHub; empty, nothing is answered. */
  reply_secret: string
  reply_when: NonNullable<NonNullable<Trigger['reply']>['when']>
}

export const formOf = (trigger: Trigger | undefined): TriggerForm => ({
  ...choiceOf(trigger?.agent_config),
  ...budgetFormOf(trigger?.budget),
  name: trigger?.name ?? '',
  verification: trigger?.verification ?? 'github',
  secret: '',
  filter: trigger?.filter ?? '',
  prompt: trigger?.prompt ?? '',
  title: trigger?.title ?? '',
  priority: String(trigger?.priority ?? ''),
  skill: trigger?.agent_config.skill_spec ?? '',
  on_open_run: trigger?.on_open_run ?? 'followup',
  reply_secret: trigger?.reply?.secret ?? '',
  reply_when: trigger?.reply?.when ?? 'start_and_end',
  identity: trigger?.agent_uid ?? '',
  is_personal: trigger?.scope.type === 'User',
  metadata: writeMetadata(trigger?.metadata),
  output_schema: writeObject(trigger?.output_schema),
})

const trimmed = ({ secret, filter, title, skill, priority }: TriggerForm) => ({
  secret: secret.trim(),
  filter: filter.trim(),
  title: title.trim(),
  skill: skill.trim(),
  priority: priority.trim(),
})

/** What the form says of a trigger. `before`: what it was made from, whose other settings stay. */
function saidOf(form: TriggerForm, before: Trigger | undefined) {
  const { secret, filter, title, skill, priority } = trimmed(form)
  const [budget, schema] = [budgetOf(form), objectOf(form.output_schema)]
  const { skill_spec: _, ...config } = configOf(form, before?.agent_config)
  return {
    name: form.name.trim(),
    verification: form.verification,
    on_open_run: form.on_open_run,
    agent_config: { ...config, ...(skill ? { skill_spec: skill } : {}) },
    ...(secret ? { secret } : {}),
    ...(filter ? { filter } : {}),
    ...(form.prompt.trim() ? { prompt: form.prompt } : {}),
    ...(title ? { title } : {}),
    ...(form.metadata.trim() || before ? { metadata: readMetadata(form.metadata) } : {}),
    ...(priority ? { priority: Number(priority) } : {}),
    ...(budget ? { budget } : {}),
    ...(schema ? { output_schema: schema } : {}),
    ...(form.identity ? { agent_uid: form.identity } : {}),
    ...(form.verification === 'github' && form.reply_secret
      ? { reply: { secret: form.reply_secret, when: form.reply_when } }
      : {}),
  }
}

export const creationOf = (form: TriggerForm): CreateTriggerRequest => ({
  ...saidOf(form, undefined),
  ...(form.is_personal ? { team: false } : {}),
})

export function updateOf(form: TriggerForm, before: Trigger): UpdateTriggerRequest {
  const { enabled, mode } = before
  return { ...saidOf(form, before), enabled, ...(mode ? { mode } : {}) }
}

/** Whether all is there that has to be. */
export const isWhole = (form: TriggerForm): boolean =>
  form.name.trim() !== '' && (form.prompt.trim() !== '' || form.skill.trim() !== '') && areReadable(form)
