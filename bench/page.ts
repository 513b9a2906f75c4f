/**
 * How long the page takes to show a run, from the click on its link on: a large one (20,000 events, 5 MB of output) beside a small
 * one, in turns, and how smoothly the large one scrolls. Part of no other bench: `node bench/page.ts [--write]`.
 */
import { availableParallelism, loadavg } from 'node:os'
import type { Page } from 'playwright-core'
import { apiOf, shell, startService } from '../server/test/support/service.ts'
import { openPage } from '../server/test/support/web-page.ts'
import { writeFigures } from './figures.ts'

const ROUNDS = 5
/** In each of two turns; one is three events and prints some 790 bytes. */
const STEPS = 3_400
const STEP = shell('seq -s " " 220')
const MANY_STEPS = Array(STEPS).fill(STEP).join('\n')
const RUNBOOK = { config: { harness: { type: 'runbook' } } }

const percentile = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ??
  Number.NaN

interface Opened {
  /** Until the first entry of the conversation is there. */
  first_ms: number
  /** Until the conversation has grown for the last time. */
  all_ms: number
}

/** Goes from the list to a run, as a click does. */
async function openRun(page: Page, title: string): Promise<Opened> {
  await page.getByRole('link', { name: 'Runs', exact: true }).first().click()
  const link = page.getByRole('link', { name: title }).first()
  await link.waitFor()
  return page.evaluate<Opened>(`(async () => {
    const frame = () => new Promise(requestAnimationFrame)
    const log = () => document.querySelector('[role=log]')
    const started = performance.now()
    ;[...document.querySelectorAll('a')].find((link) => link.textContent.includes('${title}')).click()
    while (!log()?.querySelector('[data-index]')) await frame()
    const first_ms = performance.now() - started
    let grown = performance.now()
    let height = ''
    while (performance.now() - grown < 2_000) {
      await frame()
      const now = log()?.style.height
      if (now !== height) grown = performance.now()
      height = now
    }
    return { first_ms, all_ms: grown - started }
  })()`)
}

/** Times between frames while the wheel turns through the conversation. */
const scroll = (page: Page): Promise<number[]> =>
  page.evaluate<number[]>(`(async () => {
    const frames = []
    let before = performance.now()
    for (let frame = 0; frame < 180; frame++) {
      await new Promise(requestAnimationFrame)
      const now = performance.now()
      frames.push(now - before)
      before = now
      scrollBy(0, 400)
    }
    return frames.slice(5)
  })()`)

const service = await startService()
try {
  const api = apiOf(service)
  const succeed = async (id: string) => {
    const { state, status_message } = await api.ended(id, 600_000)
    if (state !== 'SUCCEEDED') throw new Error(status_message?.message)
  }
  const ids = {
    large: await api.create({ title: 'large', prompt: MANY_STEPS, ...RUNBOOK }),
    small: await api.create({ title: 'small', prompt: shell('echo hello'), ...RUNBOOK }),
  }
  for (const id of Object.values(ids)) await succeed(id)
  await api.json('POST', `/agent/runs/${ids.large}/followups`, { message: MANY_STEPS })
  await succeed(ids.large)
  const transcript = await fetch(`${service.base_url}/agent/runs/${ids.large}/transcript`, {
    headers: { authorization: `Bearer ${service.api_key}` },
  })
  const log = await transcript.text()
  const count = log.trimEnd().split('\n').length
  await using opened = await openPage(service)
  const { page } = opened
  const times: Record<keyof typeof ids, Opened[]> = { large: [], small: [] }
  let frames: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    for (const title of ['small', 'large'] as const) times[title].push(await openRun(page, title))
    frames = [...frames, ...(await scroll(page))]
  }
  const nodes = await page.evaluate("document.querySelectorAll('*').length")
  const row = (what: string, value: keyof Opened) => {
    const [large, small] = (['large', 'small'] as const).map((title) =>
      percentile(
        times[title].map((time) => time[value]),
        0.5,
      ),
    ) as [number, number]
    return `| ${what} | ${large.toFixed(0)} | ${small.toFixed(0)} | ${(large / small).toFixed(1)} |`
  }
  const table = [
    '| from the click on its link, median ms | large run | small run | ratio |',
    '|---|---|---|---|',
    row('its first entries are shown', 'first_ms'),
    row('all its events are read', 'all_ms'),
    '',
    `Large: ${count.toLocaleString('en')} events, ${(log.length / 1e6).toFixed(1)} MB. Scrolling it: ${percentile(frames, 0.5).toFixed(1)} ms a frame at the median, ${percentile(frames, 0.95).toFixed(1)} at the 95th percentile; ${nodes} elements in the page. ${availableParallelism()} cores, the load was ${loadavg()[0]?.toFixed(1)}. \`node bench/page.ts --write\``,
  ].join('\n')
  console.log(table)
  if (process.argv.includes('--write')) writeFigures('page', table)
} finally {
  await service.stop()
}
