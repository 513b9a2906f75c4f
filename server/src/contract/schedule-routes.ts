import { z } from 'zod'
import { define, Empty, reading, writing } from './route.ts'
import {
  CreateScheduleRequest,
  DeleteScheduleResponse,
  ListFiringsQuery,
  ListFiringsResponse,
  ListSchedulesQuery,
  ListSchedulesResponse,
  ListScheduleTimesQuery,
  ListScheduleTimesResponse,
  ScheduledAgentItem,
  ScheduleFiring,
  UpdateScheduleRequest,
} from './schedule.ts'

const path = '/agent/schedules/{schedule_id}'
const params = z.object({ schedule_id: z.string().meta({ description: 'Id of the schedule.' }) })
const found = { tag: 'Schedules', params, status: 200, response: ScheduledAgentItem } as const

export const SCHEDULE_ROUTES = {
  listSchedules: define({
    method: 'GET',
    path: '/agent/schedules',
    summary: 'List schedules',
    description: 'By name: those of the team, and the caller’s own.',
    tag: 'Schedules',
    query: ListSchedulesQuery,
    status: 200,
    response: ListSchedulesResponse,
    pages: 'schedules',
    errors: ['invalid_request', ...reading],
  }),
  createSchedule: define({
    method: 'POST',
    path: '/agent/schedules',
    summary: 'Create a schedule',
    description:
      'Creates a run at each time that the cron expression names. What the runs are to be is checked now, as if one were created. ' +
      'They are created as the caller; `next_runs` of the answer has their next three times.',
    tag: 'Schedules',
    body: CreateScheduleRequest,
    status: 201,
    target: { field: 'id', param: 'schedule_id' },
    response: ScheduledAgentItem,
    errors: writing,
  }),
  listScheduleTimes: define({
    method: 'GET',
    path: '/agent/schedule-times',
    summary: 'List the next times of a cron expression',
    description:
      'When a schedule with it would be due next. What a schedule would be refused for is refused.',
    tag: 'Schedules',
    query: ListScheduleTimesQuery,
    status: 200,
    response: ListScheduleTimesResponse,
    errors: ['invalid_request', ...reading],
  }),
  getSchedule: define({ ...found, method: 'GET', path, summary: 'Get a schedule', errors: reading }),
  updateSchedule: define({
    ...found,
    method: 'PUT',
    path,
    summary: 'Replace a schedule',
    description:
      'What is left out is gone, but `time_zone`, `overlap`, `catch_up`, `title`, `priority`, `budget` and `output_schema` stay as they are, ' +
      'of which null takes away the last four, and a value `***` of a tool server keeps the one it has. ' +
      'From now on its runs are created as the caller. `team` cannot be changed.',
    body: UpdateScheduleRequest,
    errors: writing,
  }),
  pauseSchedule: define({
    ...found,
    method: 'POST',
    path: `${path}/pause`,
    summary: 'Pause a schedule',
    description: 'No more runs until it is resumed. Runs that exist go on.',
    body: Empty,
    errors: writing,
  }),
  resumeSchedule: define({
    ...found,
    method: 'POST',
    path: `${path}/resume`,
    summary: 'Resume a schedule',
    description:
      'It goes on with its next time; what it would have done while it was paused is not made up for.',
    body: Empty,
    errors: writing,
  }),
  runSchedule: define({
    ...found,
    method: 'POST',
    path: `${path}/run`,
    summary: 'Run a schedule now',
    description:
      'Creates a run now, as the next due time would: from the same template, as the person who saved the schedule last, unless `overlap` ' +
      'says that there is none while an earlier one is not over (`skipped`, with the reason). Its next time stays, and a paused ' +
      'schedule stays paused. What a run would be refused for is refused here, and then the history has nothing of it.',
    body: Empty,
    creates_run: true,
    response: ScheduleFiring,
    errors: writing,
  }),
  listFirings: define({
    ...found,
    method: 'GET',
    path: `${path}/firings`,
    summary: 'List what a schedule did',
    description:
      'Newest first: each time that was due, and the run that was created or why there is none. The newest 500 are kept.',
    query: ListFiringsQuery,
    response: ListFiringsResponse,
    pages: 'firings',
    errors: ['invalid_request', ...reading],
  }),
  deleteSchedule: define({
    ...found,
    method: 'DELETE',
    path,
    summary: 'Delete a schedule',
    description:
      'Its runs stay and keep saying which schedule they came from. Its history of firings is gone.',
    response: DeleteScheduleResponse,
    errors: writing,
  }),
} as const
