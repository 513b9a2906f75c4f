import { Artifacts } from './artifacts.ts'
import { Environments } from './environments.ts'
import { RunyardError } from './errors.ts'
import { Models } from './models.ts'
import type { Transport } from './request.ts'
import { Runs } from './runs.ts'

const API_PATH = '/api/v1'
/** Where `runyard dev` listens. */
const DEFAULT_BASE_URL = 'http://127.0.0.1:4200'

export interface RunyardOptions {
  /** Default: the environment variable RUNYARD_API_KEY. */
  api_key?: string | undefined
  /** Address of the service, with or without `/api/v1`. Default: RUNYARD_BASE_URL, then http://127.0.0.1:4200. */
  base_url?: string | undefined
  /** Milliseconds for each attempt of a request, its body included; default 60 000. */
  timeout?: number | undefined
  /** How often a request is repeated after an error that may pass; default 2. */
  max_retries?: number | undefined
  /** Sent with every request. */
  headers?: Record<string, string> | undefined
  /** What is called instead of the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined
}

/**
 * A connection to a Runyard service.
 *
 *     const client = new Runyard()
 *     const { run_id } = await client.runs.create({ prompt: 'Fix the failing test.' })
 *     const run = await client.runs.wait(run_id)
 */
export class Runyard {
  /** With `/api/v1`, without a slash at the end. */
  readonly base_url: string
  readonly runs: Runs
  readonly environments: Environments
  readonly models: Models
  readonly artifacts: Artifacts

  constructor(options: RunyardOptions = {}) {
    const transport: Transport = {
      base_url: normaliseBaseUrl(
        options.base_url || environmentVariable('RUNYARD_BASE_URL') || DEFAULT_BASE_URL,
      ),
      api_key: requireKey(options.api_key ?? environmentVariable('RUNYARD_API_KEY')),
      timeout: options.timeout ?? 60_000,
      max_retries: options.max_retries ?? 2,
      headers: options.headers ?? {},
      // Browsers refuse a `fetch` that is called as a method of something else.
      fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    }
    this.base_url = transport.base_url
    this.runs = new Runs(transport)
    this.environments = new Environments(transport)
    this.models = new Models(transport)
    this.artifacts = new Artifacts(transport)
  }
}

function normaliseBaseUrl(text: string): string {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.search || url.hash) {
    throw new RunyardError(
      'base_url must be an http or https address without credentials, query and fragment.',
    )
  }
  const path = url.pathname.replace(/\/+$/, '')
  return url.origin + (path.endsWith(API_PATH) ? path : path + API_PATH)
}

/** Checked here, because `fetch` would quote the key in its complaint about the header. */
function requireKey(key: string | undefined): string {
  const trimmed = key?.trim()
  if (!trimmed) throw new RunyardError('An API key is needed: pass api_key or set RUNYARD_API_KEY.')
  if (!/^[\x21-\x7e]+$/.test(trimmed)) throw new RunyardError('The API key holds characters that no key has.')
  return trimmed
}

/** Undefined where there is no environment, as in browsers. */
function environmentVariable(name: string): string | undefined {
  try {
    return globalThis.process?.env?.[name]
  } catch {
    // Deno without permission to read the environment.
    return undefined
  }
}
