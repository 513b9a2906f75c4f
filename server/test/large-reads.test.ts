/** Whatever is read at once is limited in bytes, and read whole page by page. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { Conversation } from '../src/contract/conversation.ts'
import { type Environment, ListEnvironmentsResponse } from '../src/contract/environment.ts'
import type { RunEvent } from '../src/contract/event.ts'
import { ListRunsResponse } from '../src/contract/run.ts'
import { NOBODY } from './support/each-service.ts'
import { readToEnd } from './support/event-stream.ts'
import { onFace } from './support/face.ts'
import { ofType, printed } from './support/traces.ts'

/** A page's rows come to 4 MiB; its last row, and what JSON adds to rows, come on top. */
const LARGEST_PAGE = 4.5 * 1024 ** 2

/** Text that nothing can compress. */
const noise = (characters: number): string => randomBytes(characters).toString('base64').slice(0, characters)

onFace('what is large', (service) => {
  test('a log of 10 MB is read whole in pages, by the stream and as a transcript', async () => {
    const { admin, fetch, worker } = service()
    const run_id = await admin.create({ prompt: 'x', config: { worker_host: worker.pool } })
    const lease = await worker.start(run_id)
    for (let printed = 0; printed < 10; printed += 1) await worker.print(lease, 'megabyte', noise(1_000_000))
    await worker.end(lease)
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
    assert.equal(printed(events).length, 10_000_000)
    assert.deepEqual(
      events.map(({ sequence }) => sequence),
      events.map((_, index) => index + 1),
    )
    assert.equal(ofType(events, 'run.state').at(-1)?.data.state, 'SUCCEEDED')

    const sse = { accept: 'text/event-stream' }
    const stream = await admin.call('GET', `/agent/runs/${run_id}/events`, undefined, sse)
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
    const wanted = Array.from({ length: 12 }, () => ({ prompt, config, metadata: { set: 'prompts' } }))
    const waiting = wanted.values()
    const create = async () => {
      for (const body of waiting) await admin.create(body)
    }
    await Promise.all(Array.from({ length: 4 }, create))
    const short = await admin.create({ prompt: 'Short.', config: { worker_host: NOBODY } })
    const response = await admin.call('GET', '/agent/runs?limit=100&metadata[set]=prompts')
    const text = await response.text()
    assert(text.length < 512 * 1024, `The list has ${text.length} bytes.`)
    const { runs, page_info } = ListRunsResponse.parse(JSON.parse(text))
    assert.deepEqual([runs.length, page_info.has_next_page], [12, false])
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

  test('a conversation of large outputs is read in pages that join to its steps', async () => {
    const { admin, worker } = service()
    const commands = Array.from({ length: 80 }, (_, i) => `echo ${i}; lines`)
    const run_id = await admin.create({ prompt: 'Lines.', config: { worker_host: worker.pool } })
    const lease = await worker.start(run_id)
    for (const [i, command] of commands.entries())
      await worker.print(lease, command, `${i}\n${noise(55_000)}`)
    const child = await admin.create({ prompt: 'Below.', parent_run_id: run_id })
    await worker.end(lease)
    const { conversation_id } = await admin.get(run_id)
    const config = { worker_host: NOBODY }
    const second = await admin.create({ prompt: 'And then?', conversation_id, config })
    const path = `/agent/runs/${run_id}/conversation`
    const pages: Conversation[] = []
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const response = await admin.call('GET', `${path}${cursor && `?cursor=${cursor}`}`)
      const text = await response.text()
      assert(text.length < LARGEST_PAGE, `A page has ${text.length} bytes.`)
      const page = Conversation.parse(JSON.parse(text))
      assert(page.steps.length > 0 && pages.length < 5)
      pages.push(page)
      cursor = page.page_info.next_cursor
      assert.equal(page.page_info.has_next_page, cursor !== undefined)
    }
    // The first step is more than a page; it ends between two of its commands.
    assert.deepEqual(
      pages.map(({ run_ids, steps }) => [
        run_ids,
        steps.map((step) => [step.id.slice(-2), ...step.steps.map(({ id }) => id)]),
      ]),
      [
        [[run_id], [[':1']]],
        [
          [run_id, second],
          // It was created when the first page had ended.
          [[':1', child], [':2']],
        ],
      ],
    )
    const blocks = pages.map(({ steps }) =>
      steps.flatMap(({ messages }) => messages.flatMap((m) => m.content)),
    )
    assert.equal(blocks[0]?.at(-1)?.type, 'action_result')
    assert.equal(blocks[1]?.[0]?.type, 'action')
    const results = blocks.flat().filter((block) => block.type === 'action_result')
    assert.deepEqual(
      results.map(({ output }) => output.text.split('\n')[0]),
      commands.map((_, i) => `${i}`),
    )
    for (const { output } of results) assert(output.text.length > 50_000)

    const { next_cursor = '' } = pages[0]?.page_info ?? {}
    const other = await admin.create({ prompt: 'Another.', config })
    for (const [id, cursor, why] of [
      [other, next_cursor, 'cursor: belongs to another conversation.'],
      [run_id, 'x', 'cursor: is not one this service gave out.'],
      [run_id, '', 'cursor: is not one this service gave out.'],
      [run_id, next_cursor.slice(0, -4), 'cursor: is not one this service gave out.'],
    ] as const) {
      const response = await admin.call('GET', `/agent/runs/${id}/conversation?cursor=${cursor}`)
      const { detail } = (await response.json()) as { detail: string }
      assert.deepEqual([response.status, detail], [400, why])
    }
  })

  test('environments are read in pages, for who asks and for who does not', async () => {
    const { admin } = service()
    const setup_commands = Array.from({ length: 20 }, () => randomBytes(32 * 1024).toString('hex'))
    const made: string[] = []
    for (let i = 0; i < 6; i += 1) {
      const config = { name: `large ${i}`, setup_commands, variables: { KEY: 'value' } }
      made.push((await admin.json<Environment>('POST', '/agent/environments', config)).uid)
    }
    for (const sort_by of ['name', 'last_updated']) {
      const seen: string[] = []
      for (let cursor: string | undefined = ''; cursor !== undefined; ) {
        const query = `?sort_by=${sort_by}${cursor && `&cursor=${cursor}`}`
        const text = await (await admin.call('GET', `/agent/environments${query}`)).text()
        assert(text.length < 6 * 1024 ** 2, `A page has ${text.length} bytes.`)
        const page = ListEnvironmentsResponse.parse(JSON.parse(text))
        seen.push(...page.environments.map(({ uid }) => uid))
        cursor = page.page_info.next_cursor
      }
      assert.deepEqual(seen, sort_by === 'name' ? made : made.toReversed())
    }
    const page = await admin.json<ListEnvironmentsResponse>('GET', '/agent/environments?limit=2')
    assert.deepEqual([page.environments.length, page.page_info.has_next_page], [2, true])
    assert.equal(page.environments[0]?.config.variables?.KEY, '***')
    const broken = await admin.call('GET', '/agent/environments?cursor=x')
    assert.equal(broken.status, 400)
  })
})
