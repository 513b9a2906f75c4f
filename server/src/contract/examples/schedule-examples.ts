import { LAST_PAGE, LENA, SERVICE, TEAM } from './people.ts'
import { ENVIRONMENT_ID, RUN_ID } from './run-examples.ts'

const SCHEDULE_ID = '01a2031c-4f7d-7c11-a2e8-90b56f3d1e47'
const TRIGGER_ID = '01a2033a-b806-7d4e-91c5-2fa7e80c64d3'
const DELIVERY_ID = '01a20b52-0d3b-7a67-bc19-e845f2a6901d'
const SAVED = {
  created_at: '2026-11-05T10:12:09.477Z',
  updated_at: '2026-11-19T07:55:38.201Z',
  created_by: LENA,
  updated_by: LENA,
  scope: TEAM,
}

const scheduled = {
  name: 'Update dependencies',
  cron_schedule: '0 6 * * 1-5',
  time_zone: 'Europe/Berlin',
  prompt: 'Update the dependencies that have new minor versions, and make the tests pass.',
  agent_config: { environment_id: 'shop' },
  budget: { max_cost_usd: 2 },
} as const

const schedule = {
  id: SCHEDULE_ID,
  ...scheduled,
  agent_config: { environment_id: ENVIRONMENT_ID },
  enabled: true,
  overlap: 'skip',
  catch_up: 'latest',
  metadata: {},
  ...SAVED,
  last_spawn_error: null,
  history: { last_ran: '2026-11-24T05:00:00.214Z', next_run: '2026-11-25T05:00:00.000Z' },
  next_runs: ['2026-11-25T05:00:00.000Z', '2026-11-26T05:00:00.000Z', '2026-11-27T05:00:00.000Z'],
} as const

const triggered = {
  name: 'Answer @runyard on GitHub',
  verification: 'github',
  filter: 'headers["x-github-event"] == "issue_comment" && payload.comment.body.startsWith("@runyard")',
  prompt: '{{payload.comment.body}}\n\nThe issue: {{payload.issue.title}}\n{{payload.issue.body}}',
  agent_config: { environment_id: 'shop' },
  budget: { max_cost_usd: 1 },
  reply: { secret: 'GITHUB_TOKEN' },
} as const

const trigger = {
  trigger_id: TRIGGER_ID,
  url: `${SERVICE}/hooks/${TRIGGER_ID}`,
  ...triggered,
  agent_config: { environment_id: ENVIRONMENT_ID },
  enabled: true,
  on_open_run: 'followup',
  metadata: {},
  ...SAVED,
} as const

const delivery = {
  delivery_id: DELIVERY_ID,
  trigger_id: TRIGGER_ID,
  received_at: '2026-11-24T09:52:30.116Z',
  event: 'issue_comment',
  sender_delivery_id: '7f3a9c40-c91b-11f0-8d2e-5b6e0a14cf9d',
  outcome: 'run_started',
  run_id: RUN_ID,
  duplicates: 0,
} as const

const ofSchedule = { schedule_id: SCHEDULE_ID }
const ofTrigger = { trigger_id: TRIGGER_ID }

export const SCHEDULE_EXAMPLES = {
  listSchedules: {
    client: 'schedules.list',
    answer: { schedules: [schedule], page_info: LAST_PAGE },
  },
  createSchedule: { client: 'schedules.create', body: scheduled, answer: schedule },
  getSchedule: { client: 'schedules.retrieve', path: ofSchedule, answer: schedule },
  updateSchedule: {
    client: 'schedules.update',
    path: ofSchedule,
    body: { ...scheduled, enabled: true },
    answer: schedule,
  },
  deleteSchedule: { client: 'schedules.delete', path: ofSchedule, answer: { success: true } },
  pauseSchedule: {
    client: 'schedules.pause',
    path: ofSchedule,
    answer: {
      ...schedule,
      enabled: false,
      history: { ...schedule.history, next_run: null },
      next_runs: [],
    },
  },
  resumeSchedule: { client: 'schedules.resume', path: ofSchedule, answer: schedule },
  listScheduleTimes: {
    client: 'schedules.times',
    query: { cron_schedule: '0 6 * * 1-5', time_zone: 'Europe/Berlin' },
    answer: {
      next_runs: ['2026-11-25T05:00:00.000Z', '2026-11-26T05:00:00.000Z', '2026-11-27T05:00:00.000Z'],
    },
  },
  runSchedule: {
    client: 'schedules.run',
    path: ofSchedule,
    answer: {
      due_at: '2026-11-24T09:14:07.316Z',
      fired_at: '2026-11-24T09:14:07.316Z',
      outcome: 'created',
      run_id: RUN_ID,
      asked_by: schedule.created_by,
    },
  },
  listFirings: {
    client: 'schedules.firings',
    path: ofSchedule,
    answer: {
      firings: [
        {
          due_at: '2026-11-24T05:00:00.000Z',
          fired_at: '2026-11-24T05:00:00.214Z',
          outcome: 'created',
          run_id: RUN_ID,
        },
      ],
      page_info: LAST_PAGE,
    },
  },
  createTrigger: {
    client: 'triggers.create',
    body: triggered,
    answer: { ...trigger, secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD' },
  },
  listTriggers: { client: 'triggers.list', answer: { triggers: [trigger], page_info: LAST_PAGE } },
  getTrigger: { client: 'triggers.retrieve', path: ofTrigger, answer: trigger },
  updateTrigger: {
    client: 'triggers.update',
    path: ofTrigger,
    body: { ...triggered, enabled: true },
    answer: trigger,
  },
  deleteTrigger: { client: 'triggers.delete', path: ofTrigger, answer: { success: true } },
  pauseTrigger: { client: 'triggers.pause', path: ofTrigger, answer: { ...trigger, enabled: false } },
  resumeTrigger: { client: 'triggers.resume', path: ofTrigger, answer: trigger },
  tryTrigger: {
    client: 'triggers.tryFilter',
    path: ofTrigger,
    body: { filter: 'payload.action == "opened"' },
    answer: {
      deliveries: [
        {
          delivery_id: DELIVERY_ID,
          received_at: '2026-11-24T09:52:30.116Z',
          event: 'issue_comment',
          passes: false,
          reason: 'The filter is not true of it.',
        },
      ],
    },
  },
  listTriggerDeliveries: {
    client: 'triggers.deliveries',
    path: ofTrigger,
    answer: { deliveries: [delivery], page_info: LAST_PAGE },
  },
  replayTriggerDelivery: {
    client: 'triggers.replay',
    path: { ...ofTrigger, delivery_id: DELIVERY_ID },
    answer: {
      ...delivery,
      delivery_id: '01a20b58-77f0-7be2-8a3d-41c9d06b5e2f',
      received_at: '2026-11-24T09:59:31.056Z',
      sender_delivery_id: null,
      replay_of: DELIVERY_ID,
    },
  },
} as const
