/**
 * Runs the cases of the fault server (see there for their form) against the TypeScript library. Knows no runtime: it needs
 * `fetch` and the library as a module, so the same cases run on Node, Deno, Bun, workerd and in browsers.
 */
import type * as Library from '../src/index.ts'
import {
  type Call,
  type Case,
  type Collected,
  camelCaseKeys,
  collectCall,
  type Script,
} from './behaviour-call.ts'
import { matches } from './matches.ts'
import { fill, type Json } from './placeholders.ts'

export type { Case } from './behaviour-call.ts'

/** For a row on a machine whose cores are all busy. */
const DEADLINE_MS = 120_000

export interface Setup {
  library: typeof Library
  /** From `loadTable`. */
  table: Case[]
  /** Of the fault server. */
  url: string
  /** As in the `except` of cases. */
  runtime: 'node' | 'deno' | 'bun' | 'workerd' | 'browser'
  /** Only the cases whose name contains this. */
  only?: string
  /** Those that take a minute instead of the others. */
  long?: boolean
  /** Streams are cut at each so manieth byte; default 7. */
  cut_step?: number
  /** How many cases at once; default 8. */
  parallel?: number
  /** Options that make a client go through this proxy; cases that need one are left out without it. */
  proxy?: (url: string) => Library.RunyardOptions
}

export interface Outcome {
  name: string
  ok: boolean
  /** What is wrong. */
  message?: string
}

export async function loadTable(url: string): Promise<Case[]> {
  return (await (await fetch(`${url}/cases`)).json()) as Case[]
}

/** The cases that this setup runs. */
export function selectCases({ table, runtime, only = '', long = false, proxy }: Omit<Setup, 'url'>): Case[] {
  return table.filter(
    ({ name, except, call, long: is_long = false }) =>
      is_long === long &&
      name.includes(only) &&
      !except?.includes(runtime) &&
      (proxy !== undefined || !call.proxy),
  )
}

/** Runs the cases; their outcomes come in the order of the table. */
export async function runBehaviour(setup: Setup): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  await runParallel([...selectCases(setup).entries()], setup.parallel ?? 8, async ([index, one]) => {
    const message = await runCase(setup, one).then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    )
    outcomes[index] = {
      name: one.name,
      ok: message === undefined,
      ...(message === undefined ? {} : { message }),
    }
  })
  return outcomes
}

/** Throws what is wrong. */
export async function runCase(setup: Setup, one: Case): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`It is not done after ${DEADLINE_MS} ms.`)), DEADLINE_MS)
  })
  try {
    await Promise.race([one.call.cut_every_byte ? cutEveryByte(setup, one) : check(setup, one), late])
  } finally {
    clearTimeout(timer)
  }
}

async function check(setup: Setup, one: Case): Promise<void> {
  const script = await postScript(setup.url, one.answers)
  const client = createClient(setup, one, script)
  const { concurrent } = one.call
  const numbers = concurrent === undefined ? [undefined] : Array.from({ length: concurrent }, (_, n) => n)
  const collected = await Promise.all(
    numbers.map((n) => collectCall(setup.library, client, fillNumber(one.call, n) as Call, script)),
  )
  for (const [index, got] of collected.entries()) {
    checkOutcome(setup, got, fillNumber(one.expect, numbers[index]) as Case['expect'])
  }
  await checkRequests(script, one.expect)
}

const fillNumber = (json: unknown, n: number | undefined): unknown =>
  n === undefined ? json : fill(json as Json, { n })

function createClient(setup: Setup, one: Case, script: Script): Library.Runyard {
  const { library, proxy, url } = setup
  const options = {
    api_key: 'ry_test',
    base_url: one.call.proxy ? script.url.replace(url, 'http://runyard.test') : script.url,
    dangerously_allow_browser: true,
    ...one.client,
  }
  return new library.Runyard({ ...camelCaseKeys(options), ...(one.call.proxy ? proxy?.(url) : {}) })
}

function checkOutcome({ library }: Setup, got: Collected, expected: Case['expect']): void {
  if (expected.error) {
    if (!('error' in got)) throw new Error(`It did not fail, but gave ${JSON.stringify(got)}.`)
    const { class: name, kind_of = [], ...fields } = expected.error
    if (!(got.error instanceof Error)) throw new Error(`It threw ${String(got.error)}.`)
    for (const type of [name, ...kind_of].filter((name) => name !== undefined)) {
      const Type = Reflect.get(library, type) as typeof Error | undefined
      if (!Type || !(got.error instanceof Type)) {
        throw new Error(`It is no ${type}: ${got.error.name}: ${got.error.message}`)
      }
    }
    if (name !== undefined && got.error.name !== name) throw new Error(`It is a ${got.error.name}.`)
    expectMatch(got.error, fields, 'error')
    return
  }
  if ('error' in got) throw new Error(`It failed: ${String(got.error)}`, { cause: got.error })
  if ('value' in expected) expectMatch(got.value, expected.value, 'value')
  for (const wanted of [expected.items, expected.events]) {
    if (wanted) expectMatch(got.value, wanted, 'items')
  }
  if (expected.count === undefined) return
  const items = got.value as Array<Record<string, unknown>>
  const { count, unique } = expected
  const different = new Set(items.map((item) => (unique ? item[unique] : item)))
  if (items.length !== count || different.size !== count) {
    throw new Error(`There are ${items.length} items, ${different.size} different ones, not ${count}.`)
  }
}

async function checkRequests(script: Script, expected: Case['expect']): Promise<void> {
  const { requests, waits_ms = [], same_header = [], new_header = [] } = expected
  // What the server sees of a hang-up comes a little later than what the caller sees.
  const received = await script.until(
    (received) => !requests || !matches(received, requests, 'requests'),
    20_000,
  )
  if (requests) expectMatch(received, requests, 'requests')
  for (const [index, least] of waits_ms.entries()) {
    const waited = (received[index + 1]?.arrived_ms ?? Number.NaN) - (received[index]?.arrived_ms ?? 0)
    // Timers may fire a millisecond early.
    if (!(waited >= least - 2))
      throw new Error(`It waited ${waited} ms after request ${index}, not ${least}.`)
  }
  for (const name of [...same_header, ...new_header]) {
    const seen = new Set(received.map(({ headers }) => headers[name]))
    const wanted = same_header.includes(name) ? 1 : received.length
    if (seen.has(undefined) || seen.size !== wanted) {
      throw new Error(`The ${received.length} requests have these ${name}: ${[...seen].join(', ')}.`)
    }
  }
}

function expectMatch(actual: unknown, expected: unknown, path: string): void {
  const problem = matches(actual, expected, path)
  if (problem) throw new Error(problem)
}

interface StreamItem {
  sequence?: number
  message_id?: string
  delta?: string
}

/** Whatever byte the first connection breaks at, all comes, once and in order. */
async function cutEveryByte(setup: Setup, one: Case): Promise<void> {
  const [first, ...others] = one.answers as Array<{ events: StreamItem[]; fault: object }>
  if (!first) throw new Error('There is no stream to cut.')
  const stored = first.events.flatMap(({ sequence }) => (sequence === undefined ? [] : [sequence]))
  const texts: Record<string, string> = {}
  for (const { message_id = '', delta } of first.events) {
    if (delta !== undefined) texts[message_id] = (texts[message_id] ?? '') + delta
  }
  const { lengths } = await postScript(setup.url, one.answers)
  const step = setup.cut_step ?? 7
  const cuts = Array.from({ length: Math.floor((lengths[0] ?? 0) / step) + 1 }, (_, index) => index * step)
  // Browsers open few connections at once.
  await runParallel(cuts, setup.runtime === 'browser' ? 4 : 32, async (cut) => {
    const script = await postScript(setup.url, [
      { ...first, fault: { ...first.fault, after: cut } },
      ...others,
    ])
    const got = await collectCall(setup.library, createClient(setup, one, script), one.call, script)
    if ('error' in got)
      throw new Error(`Cut at byte ${cut}, it failed: ${String(got.error)}`, { cause: got.error })
    const events = got.value as Library.RunStreamEvent[]
    const sequences: number[] = []
    const joined: Record<string, string> = {}
    for (const event of events) {
      if ('sequence' in event) {
        sequences.push(event.sequence)
        continue
      }
      const { message_id, offset, text } = event.data
      const before = joined[message_id] ?? ''
      if (offset !== before.length)
        throw new Error(`Cut at byte ${cut}, text at ${offset} follows ${before.length}.`)
      joined[message_id] = before + text
    }
    expectMatch({ sequences, joined }, { sequences: stored, joined: texts }, `cut at byte ${cut}`)
  })
}

async function postScript(url: string, answers: unknown[]): Promise<Script> {
  const response = await fetch(`${url}/scripts`, { method: 'POST', body: JSON.stringify({ answers }) })
  const made = (await response.json()) as Pick<Script, 'url' | 'lengths'> & { id: string }
  const look = async () => {
    const script = (await (await fetch(`${url}/scripts/${made.id}`)).json()) as {
      requests: Awaited<ReturnType<Script['until']>>
    }
    return script.requests
  }
  return {
    url: made.url,
    lengths: made.lengths,
    until: async (isThere, within) => {
      const give_up = performance.now() + within
      let requests = await look()
      while (!isThere(requests) && performance.now() < give_up) {
        await new Promise((resolve) => setTimeout(resolve, 10))
        requests = await look()
      }
      return requests
    },
  }
}

async function runParallel<T>(items: T[], width: number, run: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values()
  const worker = async () => {
    for (const item of rest) await run(item)
  }
  await Promise.all(Array.from({ length: width }, worker))
}
