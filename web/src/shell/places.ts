/** The pages that can be gone to from anywhere. `also`: what else they are looked for by. */
export const PLACES = [
  { to: '/', label: 'Runs' },
  { to: '/environments', label: 'Environments' },
  { to: '/schedules', label: 'Schedules' },
  { to: '/triggers', label: 'Triggers' },
  { to: '/webhooks', label: 'Webhooks' },
  { to: '/secrets', label: 'Secrets' },
  { to: '/skills', label: 'Skills' },
  { to: '/usage', label: 'Usage' },
  { to: '/keys', label: 'Access', also: 'API keys, identities, people, pools, audit log' },
] as const

/** Pages of the service itself, which the menu of the person has besides. */
export const servicePlaces = (may_administer: boolean) =>
  SERVICE_PLACES.filter(({ to }) => may_administer || to !== '/settings')

const SERVICE_PLACES = [
  { to: '/workers', label: 'Workers', also: 'queue, waiting runs' },
  { to: '/docs/guides', label: 'Docs', also: 'guides, documentation, help' },
  { to: '/settings', label: 'Settings', also: 'configuration, environment variables' },
] as const

/** The pages where something new is made, which take a right to write. */
export const MAKERS = [
  { to: '/new', label: 'New run' },
  { to: '/environments/new', label: 'New environment' },
  { to: '/schedules/new', label: 'New schedule' },
  { to: '/triggers/new', label: 'New trigger' },
  { to: '/webhooks/new', label: 'New webhook' },
  { to: '/secrets/new', label: 'New secret' },
  { to: '/keys/identities/new', label: 'New identity' },
] as const
