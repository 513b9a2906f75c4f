import type { AgentIdentity, UpdateAgentIdentityRequest } from '@runyard/client'

/** The fields of an identity, as text. */
export interface IdentityForm {
  name: string
  description: string
  prompt: string
  environment: string
  model: string
  harness: string
  /** One a line. */
  skills: string
  pool: string
}

export const formOf = (identity: AgentIdentity | undefined): IdentityForm => ({
  name: identity?.name ?? '',
  description: identity?.description ?? '',
  prompt: identity?.prompt ?? '',
  environment: identity?.environment_id ?? '',
  model: identity?.base_model ?? '',
  harness: harnessOf(identity),
  skills: (identity?.skills ?? []).join('\n'),
  pool: identity?.worker_host ?? '',
})

const harnessOf = (identity: AgentIdentity | undefined): string =>
  identity?.harness?.type ?? identity?.base_harness ?? ''

/** What an identity is set to. What is empty is taken away; the harness is named only when it is another one, so that its details stay. */
export function requestOf(
  form: IdentityForm,
  before: AgentIdentity | undefined,
): UpdateAgentIdentityRequest & { name: string } {
  const { harness, pool } = form
  return {
    name: form.name.trim(),
    description: form.description.trim(),
    prompt: form.prompt,
    environment_id: form.environment,
    base_model: form.model.trim(),
    skills: form.skills
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean),
    worker_host: pool.trim(),
    ...(harness === harnessOf(before)
      ? {}
      : { base_harness: '', harness: harness === '' ? {} : { type: harness } }),
  }
}
