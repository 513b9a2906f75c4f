/** Whatever is read at once is limited in bytes, and read whole page by page. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunEvent } from '../src/contract/event.ts'
import { ListRunsResponse } from '../src/contract/run.ts'
import { NOBODY, onEachService } from './support/each-service.ts'
import { readToEnd } from './support/event-stream.ts'
import { shell } from './support/service.ts'
import { ofType, printed } from './support/traces.ts'

/** A page's rows come to 4 MiB; its last row, and what JSON adds to rows, come on top. */
const LARGEST_PAGE = 4.5 * 1024 ** 2

/** A command that prints a megabyte that nothing can compress. */
const MEGABYTE = 'head -c 800000 /dev/urandom | base64 -w 0 | head -c 1000000'

onEachService('what is large', (service) => {
  test('a log of 19 MB is read whole in pages, by the stream and as a transcript', async () => {
    const { admin, base_url, keys } = service()
    const run_id = await admin.create({ prompt: Array(19).fill(shell(MEGABYTE)).join('\n') })
    await admin.ended(run_id)
    const events: RunEvent[] = []
    for (let pages = 1, more = true; more; pages += 1) {
      const after = events.at(-1)?.sequence ?? 0
      const response = await admin.call('GET', `/agent/runs/${run_id}/events?limit=1000&after=${after}`)
      const text = await response.text()
      assert(text.length < LARGEST_PAGE, `A page has ${text.length} bytes.`)
      const page = JSON.parse(text) as { events: RunEvent[]; has_more: boolean }
      assert(page.events.length > 0 && pages < 10)
      events.push(...page.events)
      more = page.has_more
    }
    assert.equal(printed(events).length, 19_000_000)
    assert.deepEqual(
      events.map(({ sequence }) => sequence),
      events.map((_, index) => index + 1),
    )
    assert.equal(ofType(events, 'run.state').at(-1)?.data.state, 'SUCCEEDED')

    const stream = await fetch(`${base_url}/agent/runs/${run_id}/events`, {
      headers: { authorization: `Bearer ${keys.admin}`, accept: 'text/event-stream' },
    })
    const end = { run_id, last_sequence: events.length }
    assert.deepEqual(await readToEnd(stream), { events, end })

    const { headers } = await admin.call('GET', `/agent/runs/${run_id}/transcript`)
    const transcript = await (await fetch(headers.get('location') ?? '')).text()
    assert.equal(transcript, events.map((event) => `${JSON.stringify(event)}\n`).join(''))
  })

  test('a list of runs has the beginnings of their prompts, and a run the whole', async () => {
    const { admin } = service()
    const prompt = `${'🦊'.repeat(2047)}${'x'.repeat(1_000_000)}`
    const config = { base_prompt: 'y'.repeat(3000), worker_host: NOBODY }
    const wanted = Array.from({ length: 50 }, () => ({ prompt, config, metadata: { set: 'prompts' } }))
    const waiting = wanted.values()
    const create = async () => {
      for (const body of waiting) await admin.create(body)
    }
    await Promise.all(Array.from({ length: 4 }, create))
    const short = await admin.create({ prompt: 'Short.', config: { worker_host: NOBODY } })
    const response = await admin.call('GET', '/agent/runs?limit=100&metadata[set]=prompts')
    const text = await response.text()
    assert(text.length < 2 * 1024 ** 2, `The list has ${text.length} bytes.`)
    const { runs, page_info } = ListRunsResponse.parse(JSON.parse(text))
    assert.deepEqual([runs.length, page_info.has_next_page], [50, false])
    for (const run of runs) {
      assert.equal(run.prompt, `${'🦊'.repeat(2047)}x`)
      assert.equal(run.agent_config.base_prompt, 'y'.repeat(2048))
      assert.deepEqual([run.prompt_truncated, run.base_prompt_truncated], [true, true])
    }
    const whole = await admin.get(runs[0]?.run_id ?? '')
    assert.deepEqual([whole.prompt, whole.agent_config.base_prompt], [prompt, config.base_prompt])
    const listed = (await admin.json<ListRunsResponse>('GET', '/agent/runs?q=Short.')).runs[0]
    for (const run of [whole, await admin.get(short), listed])
      assert(run && !('prompt_truncated' in run) && !('base_prompt_truncated' in run))
  })
})
