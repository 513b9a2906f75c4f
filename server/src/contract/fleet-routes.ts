import { define, type RouteDefinition, reading } from './route.ts'
import { ListSettingsResponse } from './setting.ts'
import { ListWorkersQuery, ListWorkersResponse, Queue, QueueQuery } from './worker.ts'

export const FLEET_ROUTES = {
  listWorkers: define({
    method: 'GET',
    path: '/agent/workers',
    summary: 'List workers',
    description:
      'Those of the pools that the caller may use, with the runs they hold. Only runs that the caller may see are listed with their titles.',
    tag: 'Workers',
    query: ListWorkersQuery,
    status: 200,
    response: ListWorkersResponse,
    errors: ['invalid_request', ...reading],
  }),
  getQueue: define({
    method: 'GET',
    path: '/agent/queue',
    summary: 'Get the queue',
    description:
      'How many runs wait in each pool that the caller may use, and why each run waits that the caller may see. A pool without workers and grants is listed to admins alone.',
    tag: 'Workers',
    query: QueueQuery,
    status: 200,
    response: Queue,
    errors: ['invalid_request', ...reading],
  }),
  listSettings: define({
    method: 'GET',
    path: '/agent/settings',
    summary: 'List the settings in force',
    description:
      'Those of the process that answers: what is set, from where, and what it does. Values of secrets are never returned. For admins.',
    tag: 'Access',
    status: 200,
    response: ListSettingsResponse,
    role: 'admin',
    errors: ['not_authorized', ...reading],
  }),
} as const satisfies Record<string, RouteDefinition>
