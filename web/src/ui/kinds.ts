/** Kinds of things that have pages of their own. */
export const KINDS = {
  environment: { title: 'Environments', to: '/environments', add: '/environments/new' },
  schedule: { title: 'Schedules', to: '/schedules', add: '/schedules/new' },
  trigger: { title: 'Triggers', to: '/triggers', add: '/triggers/new' },
  webhook: { title: 'Webhooks', to: '/webhooks', add: '/webhooks/new' },
  secret: { title: 'Secrets', to: '/secrets', add: '/secrets/new' },
  identity: { title: 'Identities', to: '/keys', add: '/keys/identities/new' },
} as const

export type Kind = keyof typeof KINDS
/** Those whose list is a page of its own. */
export type ListedKind = Exclude<Kind, 'identity'>

/** What holds that kind in the cache of queries. */
export const queryKeyOf = (kind: Kind): [string] => [KINDS[kind].title.toLowerCase()]
