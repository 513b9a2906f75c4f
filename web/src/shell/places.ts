/** The pages that can be gone to from anywhere. */
export const PLACES = [
  { to: '/', label: 'Runs' },
  { to: '/environments', label: 'Environments' },
  { to: '/schedules', label: 'Schedules' },
  { to: '/webhooks', label: 'Webhooks' },
  { to: '/skills', label: 'Skills' },
  { to: '/usage', label: 'Usage' },
  { to: '/keys', label: 'Keys' },
] as const
