/** What a project writes that uses the library; compiled as strictly as compilers can (package.test.ts). */
import {
  APIError,
  type CreateRunParams,
  isTerminal,
  NotFoundError,
  type RequestOptions,
  type RunItem,
  type RunState,
  type RunStreamEvent,
  Runyard,
  type RunyardOptions,
  VERSION,
} from '@runyard/client'

const options: RunyardOptions = {
  apiKey: 'ry_key',
  baseURL: 'http://127.0.0.1:4200',
  timeout: 1_000,
  maxRetries: 0,
  // What only one runtime knows, and a `fetch` of one's own.
  fetchOptions: { dispatcher: {}, proxy: 'http://127.0.0.1:1' },
  fetch: (input, init) => globalThis.fetch(input, { ...init, cache: 'no-store' }),
}
export const client = new Runyard(options)
export const version: string = VERSION

export async function failed(): Promise<RunItem[]> {
  const runs: RunItem[] = []
  for await (const run of client.runs.list({ state: ['FAILED'] })) runs.push(run)
  return runs
}

export async function firstEvent(run_id: string, signal: AbortSignal): Promise<RunStreamEvent | undefined> {
  for await (const event of client.runs.stream(run_id, { signal })) return event
  return undefined
}

export async function state(run_id: string, limits: RequestOptions): Promise<RunState | undefined> {
  try {
    const run = await client.runs.retrieve(run_id, limits)
    return isTerminal(run.state) ? run.state : undefined
  } catch (error) {
    if (error instanceof NotFoundError) return undefined
    if (error instanceof APIError) console.log(error.status, error.code, error.retryable)
    throw error
  }
}

export async function run(params: CreateRunParams, title?: string): Promise<RunState> {
  const { run_id } = await client.runs.create({ ...params, title, config: { model_id: undefined } })
  await client.runs.wait(run_id)
  return (await client.runs.createAndWait(params)).state
}

// @ts-expect-error The prompt is text.
client.runs.create({ prompt: 1 })
