/** The pages about the service itself, in Chromium. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { findChromium } from './support/browser.ts'
import { apiOf, startService, type TestService } from './support/service.ts'
import { checkAccess, moveTo, openPage } from './support/web-page.ts'

const TOKEN = 'never-to-be-shown'
const skip = findChromium() ? false : 'there is no Chromium on this machine'

describe('the pages of the service', { skip }, () => {
  let service: TestService
  let api: ReturnType<typeof apiOf>

  before(async () => {
    service = await startService({ env: { RUNYARD_METRICS_TOKEN: TOKEN } })
    api = apiOf(service)
  })
  after(async () => {
    await service?.stop()
  })

  test('the workers and the queue are shown as they change', async () => {
    await using opened = await openPage(service, { at: '/workers' })
    const { page, complaints } = opened
    const workers = page.getByRole('list', { name: 'Workers' })
    await workers.getByText('Ready').waitFor()
    await page.getByText('No runs are waiting.').waitFor()
    await checkAccess(page)
    const run_id = await api.create({ prompt: 'x', title: 'Waits here', config: { worker_host: 'nobodys' } })
    await page.getByRole('link', { name: 'Waits here' }).waitFor()
    await page.getByText(/^No worker serves the pool "nobodys"/).waitFor()
    await page.getByText('no worker is ready').waitFor()
    await page.setViewportSize({ width: 380, height: 800 })
    await page.emulateMedia({ colorScheme: 'dark' })
    await checkAccess(page)
    assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false)
    await api.json('POST', `/agent/runs/${run_id}/cancel`)
    await page.getByText('No runs are waiting.').waitFor()
    assert.deepEqual(complaints, [])
  })

  test('the guides are listed, searched, linked to each other and read without signing in', async () => {
    await using opened = await openPage(service, { at: '/docs/guides' })
    const { page, complaints } = opened
    await page.getByRole('link', { name: 'Who may do what', exact: true }).waitFor()
    await checkAccess(page)
    await page.getByLabel('Search').fill('what grants decide')
    await page
      .getByRole('status')
      .filter({ hasText: /^Showing \d+ places?$/ })
      .waitFor()
    await page.getByRole('link', { name: /› What grants decide$/ }).click()
    await page.getByRole('heading', { name: 'What grants decide' }).waitFor()
    assert.equal(new URL(page.url()).hash, '#what-grants-decide')
    await checkAccess(page)
    await page.getByRole('link', { name: 'All docs' }).click()
    await page.getByRole('link', { name: 'Configuration', exact: true }).click()
    await page.getByRole('link', { name: 'how to make the database' }).click()
    await page.getByRole('heading', { level: 1, name: 'PostgreSQL' }).waitFor()
    await page.getByRole('button', { name: 'Copy' }).first().waitFor()
    await page.setViewportSize({ width: 380, height: 800 })
    await page.emulateMedia({ colorScheme: 'dark' })
    await checkAccess(page)
    assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false)
    await page.keyboard.press('Control+k')
    await page.getByPlaceholder(/A page, a guide/).fill('webhoo')
    await page.getByRole('option', { name: /Docs$/ }).first().click()
    await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor()
    await moveTo(page, '/docs/guides/no-such')
    await page.getByText('There is no such guide').waitFor()
    assert.deepEqual(complaints, [])
    await using visit = await openPage(service, { at: '/docs/guides/tasks/team', is_signed_in: false })
    await visit.page.getByRole('heading', { level: 1, name: /team/i }).waitFor()
    await checkAccess(visit.page)
  })

  test('a guide that does not arrive says how to get it, and the search finds the others', async () => {
    await using opened = await openPage(service, { at: '/docs/guides' })
    const { page } = opened
    await page.route(/\/assets\/kubernetes-[^/]*\.js$/, (route) => route.abort())
    await page.reload()
    await page.getByLabel('Search').fill('what grants decide')
    await page.getByText('Part of the docs did not arrive.').waitFor()
    await page.getByRole('link', { name: /› What grants decide$/ }).waitFor()
    await moveTo(page, '/docs/guides/kubernetes')
    await page.getByText('This guide did not arrive.').waitFor()
    await page.getByRole('button', { name: 'Reload the tab' }).waitFor()
    await checkAccess(page)
    await page.unroute(/\/assets\/kubernetes-[^/]*\.js$/)
    await page.getByRole('button', { name: 'Reload the tab' }).click()
    await page.getByRole('article').waitFor()
  })

  test('the settings are searched, and say what is set without showing secrets', async () => {
    await using opened = await openPage(service, { at: '/settings', width: 380, dark: true })
    const { page, complaints } = opened
    const settings = page.getByRole('list', { name: 'Settings' })
    const slots = settings.getByRole('listitem').filter({ hasText: 'RUNYARD_SLOTS' })
    await slots.getByText('default', { exact: true }).waitFor()
    await checkAccess(page)
    assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false)
    await page.getByLabel('Only what is set').check()
    const token = settings.getByRole('listitem').filter({ hasText: 'RUNYARD_METRICS_TOKEN' })
    await token.getByText('set', { exact: true }).waitFor()
    assert.equal(await slots.count(), 0)
    await page.getByLabel('Search').fill('no such setting')
    await page.getByRole('status').filter({ hasText: 'No setting matches.' }).waitFor()
    assert.doesNotMatch(await page.content(), new RegExp(TOKEN))
    assert.deepEqual(complaints, [])
  })
})
