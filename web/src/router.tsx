import { createRootRoute, createRoute, createRouter, notFound } from '@tanstack/react-router'
import { BASE_PATH } from './client.ts'
import { readDeviceSearch } from './device/device-login.ts'
import { readFilesSearch } from './files/files-search.ts'
import { readAuditSearch } from './keys/audit-search.ts'
import { readOrigin } from './new-run/origin-search.ts'
import { readRunSearch } from './runs/run-search.ts'
import { AppShell } from './shell/app-shell.tsx'
import type { Arrived } from './shell/arrival.ts'
import { lazyPage } from './shell/lazy-page.tsx'
import { Crash } from './ui/crash.tsx'
import { NotFound } from './ui/not-found.tsx'
import { readRange } from './usage/usage-search.ts'

function createTree(arrived: Arrived) {
  const root = createRootRoute({
    component: () => <AppShell arrived={arrived} />,
    errorComponent: () => (
      <main className="mx-auto max-w-(--page) px-(--edge)">
        <Crash />
      </main>
    ),
    notFoundComponent: () => <NotFound kind="page" />,
  })
  const runs = createRoute({
    getParentRoute: () => root,
    path: '/',
    validateSearch: readRunSearch,
    component: lazyPage(() => import('./runs/runs-page.tsx'), 'RunsPage'),
  })
  const run = createRoute({
    getParentRoute: () => root,
    path: '/sessions/$run_id',
    beforeLoad: ({ params }) => {
      if (!/^[0-9a-f-]{36}$/i.test(params.run_id)) throw notFound()
    },
    notFoundComponent: () => <NotFound kind="run" />,
    component: lazyPage(() => import('./run/run-route.tsx'), 'RunRoute'),
  })
  const files = createRoute({
    getParentRoute: () => root,
    path: '/sessions/$run_id/files',
    validateSearch: readFilesSearch,
    component: lazyPage(() => import('./files/files-page.tsx'), 'FilesPage'),
  })
  const new_run = createRoute({
    getParentRoute: () => root,
    path: '/new',
    validateSearch: readOrigin,
    component: lazyPage(() => import('./new-run/new-run-page.tsx'), 'NewRunPage'),
  })
  const device = createRoute({
    getParentRoute: () => root,
    path: '/device',
    validateSearch: readDeviceSearch,
    component: lazyPage(() => import('./device/device-page.tsx'), 'DevicePage'),
  })
  const environments = createRoute({
    getParentRoute: () => root,
    path: '/environments',
    component: lazyPage(() => import('./environments/environments-page.tsx'), 'EnvironmentsPage'),
  })
  const new_environment = createRoute({
    getParentRoute: () => root,
    path: '/environments/new',
    component: lazyPage(() => import('./environments/environment-page.tsx'), 'NewEnvironmentPage'),
  })
  const environment = createRoute({
    getParentRoute: () => root,
    path: '/environments/$uid',
    component: lazyPage(() => import('./environments/environment-page.tsx'), 'EnvironmentPage'),
  })
  const skills = createRoute({
    getParentRoute: () => root,
    path: '/skills',
    component: lazyPage(() => import('./skills/skills-page.tsx'), 'SkillsPage'),
  })
  const usage = createRoute({
    getParentRoute: () => root,
    path: '/usage',
    validateSearch: readRange,
    component: lazyPage(() => import('./usage/usage-page.tsx'), 'UsagePage'),
  })
  const workers = createRoute({
    getParentRoute: () => root,
    path: '/workers',
    component: lazyPage(() => import('./workers/workers-page.tsx'), 'WorkersPage'),
  })
  const settings = createRoute({
    getParentRoute: () => root,
    path: '/settings',
    component: lazyPage(() => import('./settings/settings-page.tsx'), 'SettingsPage'),
  })
  const guides = createRoute({
    getParentRoute: () => root,
    path: '/docs/guides',
    component: lazyPage(() => import('./docs/guides-page.tsx'), 'GuidesPage'),
  })
  const guide = createRoute({
    getParentRoute: () => root,
    path: '/docs/guides/$',
    component: lazyPage(() => import('./docs/guide-page.tsx'), 'GuidePage'),
  })
  const keys = createRoute({
    getParentRoute: () => root,
    path: '/keys',
    component: lazyPage(() => import('./keys/keys-page.tsx'), 'KeysPage'),
  })
  const audit = createRoute({
    getParentRoute: () => root,
    path: '/keys/audit',
    validateSearch: readAuditSearch,
    component: lazyPage(() => import('./keys/audit-page.tsx'), 'AuditPage'),
  })
  const new_identity = createRoute({
    getParentRoute: () => root,
    path: '/keys/identities/new',
    component: lazyPage(() => import('./keys/identity-page.tsx'), 'NewIdentityPage'),
  })
  const identity = createRoute({
    getParentRoute: () => root,
    path: '/keys/identities/$uid',
    component: lazyPage(() => import('./keys/identity-page.tsx'), 'IdentityPage'),
  })
  const pool = createRoute({
    getParentRoute: () => root,
    path: '/keys/pools/$pool',
    component: lazyPage(() => import('./keys/pool-page.tsx'), 'PoolPage'),
  })
  const schedules = createRoute({
    getParentRoute: () => root,
    path: '/schedules',
    component: lazyPage(() => import('./schedules/schedules-page.tsx'), 'SchedulesPage'),
  })
  const new_schedule = createRoute({
    getParentRoute: () => root,
    path: '/schedules/new',
    component: lazyPage(() => import('./schedules/schedule-page.tsx'), 'NewSchedulePage'),
  })
  const schedule = createRoute({
    getParentRoute: () => root,
    path: '/schedules/$schedule_id',
    component: lazyPage(() => import('./schedules/schedule-page.tsx'), 'SchedulePage'),
  })
  const webhooks = createRoute({
    getParentRoute: () => root,
    path: '/webhooks',
    component: lazyPage(() => import('./webhooks/webhooks-page.tsx'), 'WebhooksPage'),
  })
  const new_webhook = createRoute({
    getParentRoute: () => root,
    path: '/webhooks/new',
    component: lazyPage(() => import('./webhooks/new-webhook-page.tsx'), 'NewWebhookPage'),
  })
  const webhook = createRoute({
    getParentRoute: () => root,
    path: '/webhooks/$webhook_id',
    component: lazyPage(() => import('./webhooks/webhook-page.tsx'), 'WebhookPage'),
  })
  const triggers = createRoute({
    getParentRoute: () => root,
    path: '/triggers',
    component: lazyPage(() => import('./triggers/triggers-page.tsx'), 'TriggersPage'),
  })
  const new_trigger = createRoute({
    getParentRoute: () => root,
    path: '/triggers/new',
    component: lazyPage(() => import('./triggers/new-trigger-page.tsx'), 'NewTriggerPage'),
  })
  const trigger = createRoute({
    getParentRoute: () => root,
    path: '/triggers/$trigger_id',
    component: lazyPage(() => import('./triggers/trigger-page.tsx'), 'TriggerPage'),
  })
  const secrets = createRoute({
    getParentRoute: () => root,
    path: '/secrets',
    component: lazyPage(() => import('./secrets/secrets-page.tsx'), 'SecretsPage'),
  })
  const new_secret = createRoute({
    getParentRoute: () => root,
    path: '/secrets/new',
    component: lazyPage(() => import('./secrets/secret-page.tsx'), 'NewSecretPage'),
  })
  const secret = createRoute({
    getParentRoute: () => root,
    path: '/secrets/$scope/$name',
    component: lazyPage(() => import('./secrets/secret-page.tsx'), 'SecretPage'),
  })
  return root.addChildren([
    triggers,
    new_trigger,
    trigger,
    secrets,
    new_secret,
    secret,
    schedules,
    new_schedule,
    schedule,
    webhooks,
    new_webhook,
    webhook,
    runs,
    run,
    files,
    new_run,
    device,
    environments,
    new_environment,
    environment,
    skills,
    usage,
    workers,
    guides,
    guide,
    settings,
    keys,
    audit,
    new_identity,
    identity,
    pool,
  ])
}

export const createPageRouter = (arrived: Arrived) =>
  createRouter({
    routeTree: createTree(arrived),
    // Of an address only what the page of it knows is kept.
    search: { strict: true },
    defaultErrorComponent: Crash,
    basepath: BASE_PATH,
    defaultPreload: 'intent',
    scrollRestoration: true,
  })

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createPageRouter>
  }
}
