/** The page of one run in Chromium: what is read, and what is done about it. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { findChromium, openBrowser } from './support/browser.ts'
import { type ChatRequest, type ModelServer, openModelServer, type Reply } from './support/model-server.ts'
import { answerCalls } from './support/scripted-calls.ts'
import { apiOf, shell, startService, type TestService } from './support/service.ts'
import { openPage } from './support/web-page.ts'

const skip = findChromium() ? false : 'there is no Chromium on this machine'
const RUNBOOK = { harness: { type: 'runbook' } }
const state = (page: Page, words: string) => page.locator('header [data-state]', { hasText: words }).waitFor()

describe('the page of a run', { skip }, () => {
  let service: TestService
  let api: ReturnType<typeof apiOf>
  let model: ModelServer
  let browser: Browser

  const speak = (request: ChatRequest): Reply => {
    const prompt = String(request.messages.findLast(({ role }) => role === 'user')?.content)
    const [, words] = /^Say:\n([^]*)/.exec(prompt) ?? []
    return words === undefined ? answerCalls(request) : { text: words }
  }
  before(async () => {
    model = await openModelServer(speak)
    service = await startService({
      env: { OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: model.url, RUNYARD_CREATES_PER_MINUTE: '0' },
    })
    api = apiOf(service)
    browser = await openBrowser()
  })
  after(async () => {
    await browser?.close()
    await service?.stop()
    await model?.close()
  })
  const openRun = (run_id: string, options: { width?: number; dark?: boolean } = {}) =>
    openPage(browser, service, { at: `/sessions/${run_id}`, ...options })

  for (const [script, letter, count] of [
    ['Latin', 'A', 1_000_000],
    ['Arabic', 'م', 500_000],
  ] as const) {
    test(`a prompt of ${count} ${script} letters without a space does not hold the page up`, async () => {
      const prompt = `${shell('echo ok')}\n${letter.repeat(count)}`
      const run_id = await api.create({ title: 'Long', prompt, config: RUNBOOK })
      await api.ended(run_id)
      await using opened = await openRun(run_id, { width: 380 })
      const { page, complaints } = opened
      await state(page, 'Succeeded')
      const asked = page.locator('[data-entry=asked]')
      await asked.getByRole('button', { name: 'Show all of it' }).click()
      const text = (await asked.locator('.prose').textContent()) ?? ''
      assert(text.endsWith(letter.repeat(count)), 'nothing is added to the text, or left out')
      await page.getByRole('textbox', { name: 'Follow up' }).fill('It still answers.')
      assert.deepEqual(complaints, [])
    })
  }
})
