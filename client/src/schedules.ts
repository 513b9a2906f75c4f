import type { APIPromise } from './api-promise.ts'
import { FiringList, ScheduleList } from './lists.ts'
import { requestJson } from './request.ts'
import type {
  CreateScheduleRequest,
  DeleteScheduleResponse,
  ListFiringsParams,
  ListSchedulesParams,
  ListScheduleTimesParams,
  ListScheduleTimesResponse,
  ScheduledAgentItem,
  ScheduleFiring,
  UpdateScheduleRequest,
} from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

const PATH = '/agent/schedules'
const pathOf = (schedule_id: string, ...more: string[]): string[] => [
  'agent',
  'schedules',
  schedule_id,
  ...more,
]

/** `client.schedules`: runs at the times that a cron expression names. */
export class Schedules {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Creates a schedule. What its runs are to be is checked as if one were created now; `next_runs` has their next three times.
   * They are created as you.
   */
  create(schedule: CreateScheduleRequest, options?: RequestOptions): APIPromise<ScheduledAgentItem> {
    return requestJson(this.#transport, { method: 'POST', path: PATH, body: schedule }, options)
  }

  /** One schedule. One that is not there: `NotFoundError`. */
  retrieve(schedule_id: string, options?: RequestOptions): APIPromise<ScheduledAgentItem> {
    return requestJson(this.#transport, { method: 'GET', path: pathOf(schedule_id) }, options)
  }

  /**
   * Replaces a schedule with this one: what it leaves out is gone, but `time_zone`, `overlap`, `catch_up`, `title`, `priority`,
   * `budget` and `output_schema` stay, of which null takes away the last four, and values `***` of tool servers keep the ones
   * they have. From now on its runs are created as you.
   */
  update(
    schedule_id: string,
    schedule: UpdateScheduleRequest,
    options?: RequestOptions,
  ): APIPromise<ScheduledAgentItem> {
    const path = pathOf(schedule_id)
    return requestJson(this.#transport, { method: 'PUT', path, body: schedule }, options)
  }

  /**
   * Deletes a schedule; its runs stay. Repeated after its answer was lost, it finds nothing any more: `NotFoundError`.
   */
  delete(schedule_id: string, options?: RequestOptions): APIPromise<DeleteScheduleResponse> {
    return requestJson(this.#transport, { method: 'DELETE', path: pathOf(schedule_id) }, options)
  }

  /** No more runs until it is resumed. Runs that exist go on. */
  pause(schedule_id: string, options?: RequestOptions): APIPromise<ScheduledAgentItem> {
    const path = pathOf(schedule_id, 'pause')
    return requestJson(this.#transport, { method: 'POST', path }, options)
  }

  /** Lets it go on with its next time; nothing is made up for. */
  resume(schedule_id: string, options?: RequestOptions): APIPromise<ScheduledAgentItem> {
    const path = pathOf(schedule_id, 'resume')
    return requestJson(this.#transport, { method: 'POST', path }, options)
  }

  /** The next three times of a cron expression, before there is a schedule. What one would be refused for: `BadRequestError`. */
  times(params: ListScheduleTimesParams, options?: RequestOptions): APIPromise<ListScheduleTimesResponse> {
    return requestJson(
      this.#transport,
      { method: 'GET', path: '/agent/schedule-times', query: params },
      options,
    )
  }

  /**
   * Has it run at once, paused or not; its next time stays. `outcome` is `skipped` while an earlier run is not over and `overlap`
   * is `skip`; what a run is refused for is thrown.
   */
  run(schedule_id: string, options?: RequestOptions): APIPromise<ScheduleFiring> {
    return requestJson(this.#transport, { method: 'POST', path: pathOf(schedule_id, 'run') }, options)
  }

  /**
   * What it did, newest first: each time that was due, and the run that was created or why there is none. The service keeps 500.
   */
  firings(schedule_id: string, params: ListFiringsParams = {}, options?: RequestOptions): FiringList {
    return new FiringList(this.#transport, { path: pathOf(schedule_id, 'firings'), query: params }, options)
  }

  /**
   * `for await (const schedule of schedules.list())` goes through all pages, by name; `await schedules.list()` is the first
   * one, of up to 500.
   */
  list(params: ListSchedulesParams = {}, options?: RequestOptions): ScheduleList {
    return new ScheduleList(this.#transport, { path: PATH, query: params }, options)
  }
}
