import type { APIPromise } from './api-promise.ts'
import { TriggerDeliveryList, TriggerList } from './lists.ts'
import { requestJson } from './request.ts'
import type {
  CreateTriggerRequest,
  DeleteTriggerResponse,
  ListTriggerDeliveriesParams,
  ListTriggersParams,
  Trigger,
  TriggerDelivery,
  TriggerWithSecret,
  TryTriggerRequest,
  TryTriggerResponse,
  UpdateTriggerRequest,
} from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

const PATH = '/agent/triggers'
const pathOf = (trigger_id: string, ...rest: string[]): string[] => ['agent', 'triggers', trigger_id, ...rest]

/** `client.triggers`: addresses where what others post starts runs. */
export class Triggers {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Creates a trigger. What its runs are to be is checked as if one were created now; they are created as you. `url` of the answer is
   * where its sender posts to, and `secret` what it signs with; no other answer has that.
   */
  create(trigger: CreateTriggerRequest, options?: RequestOptions): APIPromise<TriggerWithSecret> {
    return requestJson(this.#transport, { method: 'POST', path: PATH, body: trigger }, options)
  }

  /** One trigger. One that is not there, or is somebody else's own: `NotFoundError`. */
  retrieve(trigger_id: string, options?: RequestOptions): APIPromise<Trigger> {
    return requestJson(this.#transport, { method: 'GET', path: pathOf(trigger_id) }, options)
  }

  /**
   * Replaces a trigger with this one: what it leaves out is gone, but the secret stays, and values `***` of tool servers keep the
   * ones they have. From now on its runs are created as you.
   */
  update(trigger_id: string, trigger: UpdateTriggerRequest, options?: RequestOptions): APIPromise<Trigger> {
    const path = pathOf(trigger_id)
    return requestJson(this.#transport, { method: 'PUT', path, body: trigger }, options)
  }

  /**
   * Deletes a trigger and its deliveries; its runs stay. Repeated after its answer was lost, it finds nothing any more: `NotFoundError`.
   */
  delete(trigger_id: string, options?: RequestOptions): APIPromise<DeleteTriggerResponse> {
    return requestJson(this.#transport, { method: 'DELETE', path: pathOf(trigger_id) }, options)
  }

  /** Its address is not found until it is resumed. Runs that exist go on. */
  pause(trigger_id: string, options?: RequestOptions): APIPromise<Trigger> {
    return requestJson(this.#transport, { method: 'POST', path: pathOf(trigger_id, 'pause') }, options)
  }

  /** Lets it go on; what was sent meanwhile was refused, and is not made up for. */
  resume(trigger_id: string, options?: RequestOptions): APIPromise<Trigger> {
    return requestJson(this.#transport, { method: 'POST', path: pathOf(trigger_id, 'resume') }, options)
  }

  /**
   * What a filter would do with the newest deliveries: `filter` in place of the one it has, empty for none. Nothing is started.
   * A filter that is none: `BadRequestError`, with line and column.
   */
  tryFilter(
    trigger_id: string,
    params: TryTriggerRequest = {},
    options?: RequestOptions,
  ): APIPromise<TryTriggerResponse> {
    const path = pathOf(trigger_id, 'try')
    return requestJson(this.#transport, { method: 'POST', path, body: params }, options)
  }

  /** What came to it with a right signature and what that did, newest first; kept for 30 days. */
  deliveries(
    trigger_id: string,
    params: ListTriggerDeliveriesParams = {},
    options?: RequestOptions,
  ): TriggerDeliveryList {
    const path = pathOf(trigger_id, 'deliveries')
    return new TriggerDeliveryList(this.#transport, { path, query: params }, options)
  }

  /**
   * Does what the trigger does now with the body of a delivery, as a new delivery. A trigger that is paused: `ConflictError`.
   */
  replay(trigger_id: string, delivery_id: string, options?: RequestOptions): APIPromise<TriggerDelivery> {
    const path = pathOf(trigger_id, 'deliveries', delivery_id, 'replay')
    return requestJson(this.#transport, { method: 'POST', path }, options)
  }

  /**
   * `for await (const trigger of triggers.list())` goes through all pages, by name; `await triggers.list()` is the first one, of
   * up to 500, by default 50.
   */
  list(params: ListTriggersParams = {}, options?: RequestOptions): TriggerList {
    return new TriggerList(this.#transport, { path: PATH, query: params }, options)
  }
}
