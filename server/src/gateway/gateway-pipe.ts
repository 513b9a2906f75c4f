/**
 * What goes between a worker and its gateway: a small sibling process that alone connects to other machines for sandboxes. It
 * reads what sandboxes send, so it has neither the database nor the service's secret key, and where root started it a user of
 * its own. It reads lines of JSON from the worker:
 *
 * - `open` a way out: a Unix socket that obeys these rules;
 * - `close` it, with every connection through it;
 * - `limit` it: how many tokens of models are left from now on;
 * - `publish` a branch that was pushed by it;
 * - `settle` it: say when all that models have used by it is told.
 *
 * It writes lines back: `opened` or `failed`, what was `refused`, what was `published`, what models have `used`, how
 * one is `called`, what is `settled`, what `blocked` its event loop. At the end of its input (the worker is gone) it goes.
 */
import type { Block } from '../watchdog/event-loop.ts'
import type { BranchAnswer, BranchRequest, ModelCall, ModelUsage, Refusal, WayRules } from './gateway.ts'

export type Order =
  | { open: string; rules: WayRules }
  | { close: string }
  | { limit: string; tokens_left: number | null }
  | { publish: string; by: string; request: BranchRequest }
  | { settle: string }
export interface News {
  opened: string
  /** This one could not be opened. */
  failed: string
  why: string
  refused: Refusal
  published: string
  answer: BranchAnswer
  /** Of models. */
  used: ModelUsage
  called: ModelCall
  settled: string
  blocked: Block
  /** Which way out it is about. */
  by: string
}

/** What the gateway's process is started with. */
export interface GatewayArguments {
  /** Where its sockets are; goes with it. */
  directory: string
  /** Its user; `null`: the worker's own. */
  uid: number | null
}

/** JSON leaves U+2028 and U+2029 as they are, and `readline` ends lines at them: the text of a pull request may hold them. */
export const writeMessage = (message: Order | Partial<News>): string =>
  `${JSON.stringify(message).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')}\n`

export const GONE: BranchAnswer = { failure: 'The gateway is gone.', retryable: true }
