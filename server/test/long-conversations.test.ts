/** A conversation that outgrows the window of its model, from the request to the log, the page and the next run. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Conversation } from '../src/contract/conversation.ts'
import { isResting } from '../src/contract/state.ts'
import { findChromium } from './support/browser.ts'
import { until } from './support/cluster.ts'
import { type ModelServer, openModelServer } from './support/model-server.ts'
import { apiOf, startService, type TestService, temporaryDirectory } from './support/service.ts'
import { isSummary, printing, SUMMARY, strict, textOf, WINDOW } from './support/strict-model.ts'
import { ofType } from './support/traces.ts'
import { openPage } from './support/web-page.ts'

describe('a long conversation', () => {
  let model: ModelServer
  let service: TestService
  let api: ReturnType<typeof apiOf>
  let script = strict(printing(0, 0))
  const data_dir = temporaryDirectory('data')
  const start = async () => {
    service = await startService({
      data_dir,
      env: {
        OPENAI_BASE_URL: model.url,
        RUNYARD_GRACE_SECONDS: '0',
        RUNYARD_DEFAULT_MODEL: 'openai/scripted',
        RUNYARD_CONTEXT_WINDOWS: JSON.stringify({ 'openai/scripted': WINDOW }),
      },
    })
    api = apiOf(service)
  }
  before(async () => {
    model = await openModelServer((request) => script(request))
    await start()
  })
  after(async () => {
    await service?.stop()
    await model?.close()
  })
  let run_id = ''

  test('goes on from a summary, also with another worker, and everything is counted', async () => {
    script = strict(printing(14, 1_000))
    run_id = await api.create({
      prompt: 'Print the numbers.',
      config: { session_sharing: { public_access: 'VIEWER' } },
    })
    await api.found(run_id, (events) => ofType(events, 'context.compacted').length > 0)
    // Without grace the run is left in the middle of a turn.
    await service.stop()
    await start()
    const run = await api.ended(run_id, 120)
    assert.equal(run.state, 'SUCCEEDED', JSON.stringify(run.status_message))
    assert.equal(run.attempt, 2)
    const events = await api.events(run_id)
    const [compacted] = ofType(events, 'context.compacted')
    assert.equal(compacted?.data.summary, SUMMARY)
    const usages = ofType(events, 'usage').map(({ data }) => data)
    assert(usages.some(({ by_compaction }) => by_compaction))
    assert.equal(
      run.request_usage?.total_tokens,
      usages.reduce((sum, { total_tokens }) => sum + total_tokens, 0),
    )
    const { steps } = await api.json<Conversation>('GET', `/agent/runs/${run_id}/conversation`)
    const blocks = steps.flatMap(({ messages }) => messages.flatMap((message) => message.content))
    const told = blocks.find((block) => block.type === 'event' && block.name === 'context.compacted')
    assert.deepEqual(told?.type === 'event' && told.data, compacted?.data)
  })

  test('a follow-up and the next run of the conversation begin with the summary', async () => {
    const before = model.requests.length
    script = strict(printing(0, 0))
    await api.json('POST', `/agent/runs/${run_id}/followups`, { message: 'Well done?' })
    const { conversation_id } = await api.ended(run_id)
    await api.ended(await api.create({ prompt: 'Something else.', conversation_id }))
    const asked = model.requests.slice(before).map(({ body }) => textOf(body))
    assert.equal(asked.length, 2)
    for (const text of asked) assert(text.includes(SUMMARY) && !text.includes('start-0'))
    assert.match(asked[0] ?? '', /Print the numbers.*Well done\?/)
    assert.match(asked[1] ?? '', /Something else/)
  })

  test('a budget stops what summaries use of it', async () => {
    script = strict(printing(14, 1_000), {
      summarise: () => ({ text: SUMMARY, usage: { prompt_tokens: 900_000, completion_tokens: 1 } }),
    })
    const stopped = await api.create({ prompt: 'Print the numbers.', budget: { max_tokens: 500_000 } })
    const run = await api.until(stopped, ({ state }) => isResting(state), 120)
    assert.deepEqual([run.state, run.status_message?.error_code], ['BLOCKED', 'budget_exceeded'])
    assert.equal(model.requests.filter(({ body }) => isSummary(body)).at(-1), model.requests.at(-1))
  })

  test('the page shows the summary', { skip: !findChromium() && 'no Chromium' }, async () => {
    await using opened = await openPage(service, { at: `/sessions/${run_id}` })
    const { page, complaints } = opened
    const summary = page.locator('details', { hasText: 'The conversation was summarised' }).first()
    await page.locator('[data-entry], [data-block]').first().waitFor()
    // Only what is near the screen is in the page.
    await until('the summary is on the screen', async () => {
      await page.mouse.wheel(0, 600)
      return (await summary.count()) > 0
    })
    await summary.locator('summary').click()
    await summary.locator('p', { hasText: SUMMARY }).waitFor()
    assert.deepEqual(complaints, [])
  })
})
