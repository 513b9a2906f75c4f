import { createRootRoute, createRoute, createRouter, Link, lazyRouteComponent } from '@tanstack/react-router'
import { BASE_PATH } from './client.ts'
import { readRunSearch } from './runs/run-search.ts'
import { RunsPage } from './runs/runs-page.tsx'
import { AppShell } from './shell/app-shell.tsx'

/** The run that a new one does again, or goes on from. */
function readOrigin({ replay, fork, sequence }: Record<string, unknown>): OriginSearch {
  if (typeof replay === 'string') return { replay }
  if (typeof fork !== 'string') return {}
  return { fork, ...(typeof sequence === 'number' ? { sequence } : {}) }
}

interface OriginSearch {
  replay?: string
  fork?: string
  /** Of the event whose turn a fork goes on from; else the last turn. */
  sequence?: number
}

function createTree(refusal: string | undefined) {
  const root = createRootRoute({
    component: () => <AppShell refusal={refusal} />,
    notFoundComponent: () => (
      <div className="py-12">
        <h1 className="m-0 font-semibold text-xl">There is no such page</h1>
        <p>
          <Link to="/">All runs</Link>
        </p>
      </div>
    ),
  })
  const runs = createRoute({
    getParentRoute: () => root,
    path: '/',
    validateSearch: readRunSearch,
    component: RunsPage,
  })
  const run = createRoute({
    getParentRoute: () => root,
    path: '/sessions/$run_id',
    component: lazyRouteComponent(() => import('./run/run-route.tsx'), 'RunRoute'),
  })
  const new_run = createRoute({
    getParentRoute: () => root,
    path: '/new',
    validateSearch: readOrigin,
    component: lazyRouteComponent(() => import('./new-run/new-run-page.tsx'), 'NewRunPage'),
  })
  return root.addChildren([runs, run, new_run])
}

export const createPageRouter = (refusal: string | undefined) =>
  createRouter({
    routeTree: createTree(refusal),
    basepath: BASE_PATH,
    defaultPreload: 'intent',
    scrollRestoration: true,
  })

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createPageRouter>
  }
}
