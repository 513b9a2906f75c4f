import { z } from 'zod'
import { define, Empty, reading, writing } from './route.ts'
import {
  CreateTriggerRequest,
  DeleteTriggerResponse,
  ListTriggerDeliveriesQuery,
  ListTriggerDeliveriesResponse,
  ListTriggersQuery,
  ListTriggersResponse,
  TRIED_MAX,
  Trigger,
  TriggerDelivery,
  TriggerWithSecret,
  TryTriggerRequest,
  TryTriggerResponse,
  UpdateTriggerRequest,
} from './trigger.ts'

const path = '/agent/triggers/{trigger_id}'
const params = z.object({ trigger_id: z.string().meta({ description: 'Id of the trigger.' }) })
const found = { tag: 'Triggers', params, status: 200, response: Trigger } as const

export const TRIGGER_ROUTES = {
  createTrigger: define({
    method: 'POST',
    path: '/agent/triggers',
    summary: 'Create a trigger',
    description:
      'What is posted to its `url` with a right signature starts a run. What the runs are to be is checked now, as if one were created; ' +
      'they are created as the caller. The answer alone has the secret.',
    tag: 'Triggers',
    body: CreateTriggerRequest,
    status: 201,
    target: { field: 'trigger_id', param: 'trigger_id' },
    response: TriggerWithSecret,
    errors: writing,
  }),
  listTriggers: define({
    method: 'GET',
    path: '/agent/triggers',
    summary: 'List triggers',
    description: 'By name: those of the team, and the caller’s own.',
    tag: 'Triggers',
    query: ListTriggersQuery,
    status: 200,
    response: ListTriggersResponse,
    pages: 'triggers',
    errors: ['invalid_request', ...reading],
  }),
  getTrigger: define({ ...found, method: 'GET', path, summary: 'Get a trigger', errors: reading }),
  updateTrigger: define({
    ...found,
    method: 'PUT',
    path,
    summary: 'Replace a trigger',
    description:
      'What is left out is gone, but the secret stays, and a value `***` of a tool server keeps the one it has. ' +
      'From now on its runs are created as the caller. `team` cannot be changed.',
    body: UpdateTriggerRequest,
    errors: writing,
  }),
  deleteTrigger: define({
    ...found,
    method: 'DELETE',
    path,
    summary: 'Delete a trigger',
    description:
      'With its deliveries. Its runs stay and keep saying which trigger and delivery they came from.',
    response: DeleteTriggerResponse,
    errors: writing,
  }),
  pauseTrigger: define({
    ...found,
    method: 'POST',
    path: `${path}/pause`,
    summary: 'Pause a trigger',
    description: 'Its address is not found until it is resumed. Runs that exist go on.',
    body: Empty,
    errors: writing,
  }),
  resumeTrigger: define({
    ...found,
    method: 'POST',
    path: `${path}/resume`,
    summary: 'Resume a trigger',
    description: 'What was sent while it was paused was refused, and is not made up for.',
    body: Empty,
    errors: writing,
  }),
  tryTrigger: define({
    ...found,
    method: 'POST',
    path: `${path}/try`,
    summary: 'Try a filter of a trigger',
    description:
      `What a filter would do with the newest ${TRIED_MAX} deliveries, replays aside. Nothing is started and nothing is changed. Whether a run ` +
      'could be created, and whether it is about a push of our own, is not looked at.',
    body: TryTriggerRequest,
    response: TryTriggerResponse,
    errors: writing,
  }),
  listTriggerDeliveries: define({
    ...found,
    method: 'GET',
    path: `${path}/deliveries`,
    summary: 'List the deliveries of a trigger',
    description:
      'Newest first: what came with a right signature, and what it did. They are kept for 30 days, their payloads are not shown.',
    query: ListTriggerDeliveriesQuery,
    response: ListTriggerDeliveriesResponse,
    pages: 'deliveries',
    errors: ['invalid_request', ...reading],
  }),
  replayTriggerDelivery: define({
    ...found,
    method: 'POST',
    path: `${path}/deliveries/{delivery_id}/replay`,
    summary: 'Replay a delivery',
    creates_run: true,
    description:
      'Does what the trigger does now with the payload that was kept, as a new delivery, though it came before.',
    params: params.extend({ delivery_id: z.string().max(64) }),
    body: Empty,
    status: 202,
    response: TriggerDelivery,
    errors: writing,
  }),
} as const
