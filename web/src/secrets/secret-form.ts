import type { PutSecretParams, Secret } from '@runyard/client'

/** What a secret is for: the commands of runs, a host of git, or a registry of images. */
export type SecretKind = 'variable' | 'git' | 'registry'
export type SecretScope = NonNullable<PutSecretParams['scope']>

/** The fields of a secret, as they were typed. A value goes this way only. */
export interface SecretForm {
  name: string
  kind: SecretKind
  scope: SecretScope
  value: string
  description: string
  host: string
  username: string
  /** One a line. */
  repositories: string
  read_only: boolean
  app_id: string
  installation_id: string
}

export const kindOf = ({ git, registry }: Pick<Secret, 'git' | 'registry'>): SecretKind =>
  git ? 'git' : registry ? 'registry' : 'variable'

/** The form of a new secret, or of one that is there: all but its value. */
export const formOf = (secret: Secret | undefined): SecretForm => ({
  name: secret?.name ?? '',
  kind: secret ? kindOf(secret) : 'variable',
  scope: secret?.scope.type ?? 'Team',
  value: '',
  description: secret?.description ?? '',
  host: secret?.git?.host ?? secret?.registry?.host ?? '',
  username: secret?.git?.username ?? secret?.registry?.username ?? '',
  repositories: (secret?.git?.repositories ?? []).join('\n'),
  read_only: secret?.git?.read_only ?? false,
  app_id: secret?.git?.app?.app_id ?? '',
  installation_id: secret?.git?.app?.installation_id ?? '',
})

/** What is sent. As on the command line, one line end at the end of a value is that of whoever copied it. */
export function requestOf(form: SecretForm): PutSecretParams {
  const { kind, scope, read_only } = form
  const [description, host, username] = [form.description, form.host, form.username].map((text) =>
    text.trim(),
  )
  const said = {
    scope,
    value: form.value.replace(/\r?\n$/, ''),
    ...(description ? { description } : {}),
  }
  if (kind === 'registry') return { ...said, registry: { host: host ?? '', username: username ?? '' } }
  if (kind === 'variable') return said
  const repositories = form.repositories.split(/\s+/).filter(Boolean)
  const app = { app_id: form.app_id.trim(), installation_id: form.installation_id.trim() }
  const git = {
    host: host ?? '',
    ...(username ? { username } : {}),
    ...(repositories.length > 0 ? { repositories } : {}),
    ...(read_only ? { read_only } : {}),
    ...(app.app_id || app.installation_id ? { app } : {}),
  }
  return { ...said, git }
}

/** Whether all is there that has to be. */
export const isWhole = ({ name, kind, value, host, username }: SecretForm): boolean =>
  name.trim() !== '' &&
  value !== '' &&
  (kind === 'variable' || host.trim() !== '') &&
  (kind !== 'registry' || username.trim() !== '')
