/** What all pages of the web page have in common, in Chromium. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { findChromium } from './support/browser.ts'
import { type FaultyProxy, startFaultyProxy } from './support/faulty-proxy.ts'
import { apiOf, shell, startService, type TestService } from './support/service.ts'
import { checkAccess, moveTo, openPage } from './support/web-page.ts'

const skip = findChromium() ? false : 'there is no Chromium on this machine'
const RUNBOOK = { harness: { type: 'runbook' } }
const notice = (page: Page) => page.getByRole('status').filter({ hasText: 'The service cannot be reached.' })

describe('the frame of the web page', { skip }, () => {
  let service: TestService
  let api: ReturnType<typeof apiOf>
  let proxy: FaultyProxy

  before(async () => {
    service = await startService()
    api = apiOf(service)
    proxy = await startFaultyProxy(Number(new URL(service.base_url).port))
  })
  after(async () => {
    await proxy?.close()
    await service?.stop()
  })
  const through = () => ({ ...service, base_url: `http://127.0.0.1:${proxy.port}/api/v1` })

  test('a service that is away is said on every page, wherever one has scrolled, until it is back', async () => {
    for (let count = 0; count < 25; count += 1)
      await api.create({ prompt: `echo ${count}`, config: { worker_host: 'nobody' } })
    await using opened = await openPage(through())
    const { page } = opened
    for (const [at, name] of [
      ['/', 'Runs'],
      ['/schedules', 'Schedules'],
    ] as const) {
      if (at !== '/') await moveTo(page, at)
      await page.getByRole('heading', { level: 1, name }).waitFor()
      if (at === '/') await page.getByRole('list', { name: 'Runs' }).getByRole('link').nth(9).waitFor()
      await page.evaluate('scrollTo(0, document.body.scrollHeight)')
      await proxy.goAway()
      try {
        await notice(page).waitFor()
        assert(await isOnScreen(page), at)
        await checkAccess(page)
      } finally {
        await proxy.comeBack()
      }
      await notice(page).waitFor({ state: 'detached' })
    }
  })

  test('a program is logged in by whoever is signed in, and told when it is refused', async () => {
    const { origin } = new URL(service.base_url)
    const ask = async (path: string, form: Record<string, string>) => {
      const body = new URLSearchParams({ client_id: 'a program', ...form })
      const answer = await fetch(`${origin}/oauth/${path}`, { method: 'POST', body })
      return (await answer.json()) as Record<string, string>
    }
    const take = (device_code = '') =>
      ask('token', { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code })
    const first = await ask('device_authorization', { client_name: 'the laptop' })
    const at = (first.verification_uri_complete ?? '').slice(origin.length)
    await using opened = await openPage(service, { at, width: 380 })
    const { page } = opened
    await page.getByText('the laptop').waitFor()
    await page.getByText(first.user_code ?? '?', { exact: true }).waitFor()
    await checkAccess(page)
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.getByRole('status').filter({ hasText: 'The program is logged in.' }).waitFor()
    assert.match((await take(first.device_code)).access_token ?? '', /^ry_/)

    const second = await ask('device_authorization', {})
    await moveTo(page, '/device')
    await page.getByLabel('Code').fill((second.user_code ?? '').toLowerCase())
    await page.keyboard.press('Enter')
    await page.getByText('a program', { exact: true }).waitFor()
    // It has the focus: nobody allows anything by pressing Enter once more.
    await page.keyboard.press('Enter')
    await page.getByRole('status').filter({ hasText: 'The program was refused' }).waitFor()
    assert.equal((await take(second.device_code)).error, 'access_denied')
    await moveTo(page, '/device?code=BCDFGHJK')
    await page.getByRole('alert').filter({ hasText: 'No login with this code waits.' }).waitFor()
    await page.getByRole('button', { name: 'Type another code' }).click()
    await page.getByLabel('Code').waitFor()
  })

  test('a tab that showed another service before says nothing of that one', async () => {
    {
      await using before_it = await openPage(through())
      await before_it.page.evaluate("setInterval(() => fetch('/healthz'), 1)")
    }
    await using opened = await openPage(service)
    await opened.page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor()
    assert.deepEqual(opened.complaints, [])
    // What this page asks of another place is still seen.
    await opened.page.evaluate(`fetch(${JSON.stringify(through().base_url)}).catch(() => {})`)
    assert.notDeepEqual(opened.complaints, [])
  })

  test('a page that could not be read is read again once the service is back', async () => {
    await using opened = await openPage(through(), { reads_ahead: true })
    const { page } = opened
    // Pages are read ahead while nothing else is to do; this one comes too late for that.
    await page.route(/\/assets\/schedules-page-.*\.js$/, (route) => route.abort())
    await page.reload()
    await page.getByRole('heading', { name: 'Runs' }).waitFor()
    await page.getByRole('link', { name: 'Schedules' }).click()
    const problem = page.getByRole('alert').filter({ hasText: 'Its code did not arrive.' })
    await problem.waitFor()
    await page.getByRole('link', { name: 'Runyard' }).waitFor()
    await checkAccess(page)
    await page.unroute(/\/assets\/schedules-page-.*\.js$/)
    await problem.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('No schedule yet').waitFor()
  })

  test('pages read ahead open while the service is away', async () => {
    await using opened = await openPage(through(), { reads_ahead: true })
    const { page, complaints } = opened
    await page.waitForFunction(() =>
      performance.getEntriesByType('resource').some(({ name }) => /\/secret-page-.*\.js$/.test(name)),
    )
    assert.deepEqual(complaints, [])
    await proxy.goAway()
    try {
      await page.getByRole('link', { name: 'Usage' }).click()
      await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor()
      await notice(page).waitFor()
    } finally {
      await proxy.comeBack()
    }
    // What failed meanwhile is read again without being asked to.
    await page.getByRole('heading', { name: 'Runs per day' }).waitFor()
  })

  test('the palette takes the keyboard also when its code comes late', async () => {
    await using opened = await openPage(service)
    const { page } = opened
    const { promise, resolve } = Promise.withResolvers<void>()
    await page.route(/\/assets\/palette-.*\.js$/, (route) => promise.then(() => route.continue()))
    await page.reload()
    await page.getByRole('link', { name: 'New run' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog', { name: 'Go to' }).waitFor()
    resolve()
    await page.getByRole('combobox').and(page.locator(':focus')).waitFor()
  })

  test('everything is reached by the keyboard alone', async () => {
    const run_id = await api.create({
      prompt: shell('echo by keyboard'),
      title: 'By keyboard',
      config: RUNBOOK,
    })
    await api.ended(run_id)
    await using opened = await openPage(service)
    const { page, complaints } = opened
    const keys = page.keyboard
    const row = page.getByRole('link', { name: /By keyboard/ })
    await row.waitFor()
    for (const leave of ['Escape', 'Enter']) {
      await keys.press('/')
      await keys.press('Control+a')
      await keys.type('by keyboard')
      await keys.press(leave)
      await page.waitForURL(/q=by.*keyboard/)
      await page.getByRole('list', { name: 'Runs' }).getByRole('link').nth(1).waitFor({ state: 'detached' })
      await keys.press('j')
      assert.equal(await page.getByRole('searchbox').inputValue(), 'by keyboard', leave)
      await page.locator('[data-row="0"]:focus').waitFor()
    }
    await keys.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).getByText('Previous run in the list').waitFor()
    await checkAccess(page)
    await keys.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await keys.press('j')
    await keys.press('Enter')
    await page.waitForURL(new RegExp(run_id))
    await page.getByRole('button', { name: 'Go to a page or a run' }).press('Enter')
    await keys.type('sched')
    await keys.press('Enter')
    await page.waitForURL(/\/schedules$/)
    // While it closes, keys are the palette's.
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await keys.press('c')
    await page.waitForURL(/\/new$/)
    assert.deepEqual(complaints, [])
  })

  test('an address that nobody made ends no page, and keeps only what its page knows', async () => {
    await using opened = await openPage(service)
    const { page, complaints } = opened
    const odd = 'state=BLOCKED&source=NOWHERE&days=x&state=constructor&from=%FF&__proto__=1'
    for (const [at, name, left] of [
      [`/?${odd}`, 'Runs', ''],
      ['/?state=toString&source=constructor&days=7', 'Runs', '?days=7'],
      ['/usage?days=BLOCKED&state=x', 'Usage', ''],
      ['/keys/audit?days=-1&action=&state=BLOCKED', 'Audit log', ''],
      ['/new?sequence=x&state=BLOCKED&environment=7', 'New run', ''],
      ['/schedules?state=BLOCKED', 'Schedules', ''],
      ['/keys/pools/none?state=BLOCKED', 'none', ''],
    ] as const) {
      await page.goto(new URL(at, service.base_url).href)
      await page.getByRole('heading', { level: 1, name }).waitFor()
      await page.waitForURL(({ search }) => search === left)
    }
    for (const at of ['/secrets/nowhere/NONE', '/sessions/x', '/no/page']) {
      await page.goto(new URL(at, service.base_url).href)
      await page.getByRole('heading', { level: 1, name: /There is no such/ }).waitFor()
    }
    assert.deepEqual(
      complaints.filter((said) => !said.includes('status of 404')),
      [],
    )
  })

  test('a page that fails says so in its frame, and leads back', async () => {
    await using opened = await openPage(service)
    const { page, complaints } = opened
    await page.route(/\/agent\/usage/, (route) => route.fulfill({ json: { days: 7 } }))
    await moveTo(page, '/usage')
    await page.getByRole('heading', { name: 'Something went wrong on this page' }).waitFor()
    await page.getByRole('navigation', { name: 'Pages' }).waitFor()
    assert(complaints.length > 0, 'the console has it')
    await checkAccess(page)
    await page.getByRole('link', { name: 'All runs' }).click()
    await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor()
  })

  test('a link is used only after the page has asked, whether or not somebody is signed in', async () => {
    const { api_key } = await api.json<{ api_key: string }>('POST', '/api-keys', {
      name: 'Mallory',
      new_user: true,
    })
    const link = async () =>
      (await apiOf({ ...service, api_key }).json<{ url: string }>('POST', '/agent/sign-in-links', {})).url
    await using opened = await openPage(service)
    const { page } = opened
    for (const [button, is_fresh] of [
      [/^Stay signed in as/, false],
      ['Sign in', false],
      ['Sign in', true],
    ] as const) {
      if (is_fresh) await page.context().clearCookies()
      await page.goto('about:blank')
      await page.goto(await link())
      await page
        .getByRole('heading', { name: `Sign in as Mallory on ${new URL(service.base_url).host}?` })
        .waitFor()
      await checkAccess(page)
      await page.getByRole('button', { name: button, exact: true }).click()
      const who = page.getByRole('button', { name: /^Menu of/ })
      await who.waitFor()
      assert.equal((await who.getAttribute('aria-label')) === 'Menu of Mallory', button === 'Sign in')
    }
  })

  test('lists and a run show their shape while they are read, where they will stand', async () => {
    const run_id = await api.create({ title: 'Awaited', prompt: shell('true'), config: RUNBOOK })
    await api.ended(run_id)
    await using opened = await openPage(service, { at: '/usage' })
    const { page, complaints } = opened
    const { promise, resolve } = Promise.withResolvers<void>()
    await page.route(/\/api\/v1\/agent\/(runs|schedules)/, async (route) => {
      await promise
      await route.continue()
    })
    const shape = page.locator('[data-skeleton]')
    for (const at of ['/schedules', `/sessions/${run_id}`, '/']) {
      await moveTo(page, at)
      await shape.getByText('Loading…').waitFor({ state: 'attached' })
      assert.match(
        String(await page.evaluate("getComputedStyle(document.querySelector('.skeleton')).animationName")),
        /^appear$/,
        'nothing moves without need',
      )
      await checkAccess(page)
    }
    const before = await shape.locator('.skeleton > div > div').first().boundingBox()
    resolve()
    await page.getByRole('listitem').filter({ hasText: 'Awaited' }).waitFor()
    const after = await page.getByRole('listitem').first().boundingBox()
    assert.deepEqual([after?.y, after?.height], [before?.y, before?.height])
    await shape.waitFor({ state: 'detached' })
    assert.deepEqual(complaints, [])
  })

  test('the rows stay until those of the next search are read', async () => {
    const run_id = await api.create({ prompt: shell('true'), title: 'A row that stays', config: RUNBOOK })
    await api.ended(run_id)
    await using opened = await openPage(service)
    const { page } = opened
    const row = page.getByRole('link', { name: /A row that stays/ })
    await row.waitFor()
    let answer = () => {}
    const held = new Promise<void>((resolve) => {
      answer = resolve
    })
    await page.route(/\/runs\?.*q=nothing/, (route) => held.then(() => route.continue()))
    await page.getByRole('searchbox').fill('nothing has this title')
    await page.locator('[aria-busy=true]').waitFor()
    await row.waitFor()
    answer()
    await page.getByText('No run matches these filters.').waitFor()
    assert.equal(await row.count(), 0)
  })

  test('going back undoes the last filter, not each letter of the search', async () => {
    await using opened = await openPage(service)
    const { page } = opened
    await page.getByLabel('State').selectOption('succeeded')
    await page.waitForURL(/state=succeeded/)
    await page.getByRole('searchbox').pressSequentially('echo', { delay: 300 })
    await page.waitForURL(/q=echo/)
    await page.getByLabel('Source').selectOption('API')
    await page.waitForURL(/source=API/)
    await page.goBack()
    await page.waitForURL((url) => url.searchParams.get('q') === 'echo' && !url.searchParams.has('source'))
    await page.goBack()
    await page.waitForURL((url) => url.search === '')
  })

  test('who may only read is led into no form', async () => {
    const { api_key } = await api.json<{ api_key: string }>('POST', '/api-keys', {
      name: 'reader',
      role: 'viewer',
      new_user: true,
    })
    await using opened = await openPage({ base_url: service.base_url, api_key })
    const { page } = opened
    await page.getByRole('heading', { name: 'Runs' }).waitFor()
    await page.keyboard.press('c')
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    assert.equal(new URL(page.url()).pathname, '/')
    await page.keyboard.press('Escape')
    for (const [path, name] of [
      ['/new', 'New run'],
      ['/schedules/new', 'New schedule'],
      ['/keys/identities/new', 'New identity'],
    ] as const) {
      await moveTo(page, path)
      await page.getByRole('heading', { level: 1, name }).waitFor()
      await page.getByText('A key with the role viewer may only read.').waitFor()
      assert.equal(await page.getByRole('textbox').count(), 0)
    }
    await checkAccess(page)
  })

  test('an address that leads nowhere is said in a page, and in a problem document to programs', async () => {
    const origin = new URL(service.base_url).origin
    const ask = (path: string, accept: string) => fetch(origin + path, { headers: { accept } })
    for (const path of ['/nowhere', '/sessions/not-an-id', '/docs/nowhere']) {
      const page = await ask(path, 'text/html,*/*;q=0.8')
      assert.equal(page.status, 404, path)
      assert.match(page.headers.get('content-type') ?? '', /^text\/html/, path)
      const program = await ask(path, 'application/json')
      assert.equal(program.status, 404, path)
    }
    for (const path of ['/api/v1/nowhere', '/assets/nowhere.js', '/web/nowhere', '/nowhere']) {
      const program = await ask(path, path === '/nowhere' ? '*/*' : 'text/html')
      assert.equal(program.status, 404, path)
      assert.match(program.headers.get('content-type') ?? '', /^application\/problem\+json/, path)
    }
    const none = '0199a3f2-6c1e-7d52-9d1c-5b1f4f0a7e21'
    await using opened = await openPage(service, { at: '/a/b/c' })
    for (const [path, kind] of [
      ['/a/b/c', 'page'],
      ['/sessions/not-an-id', 'run'],
      [`/schedules/${none}`, 'schedule'],
    ] as const) {
      if (kind !== 'page') await moveTo(opened.page, path)
      await opened.page.getByRole('heading', { level: 1, name: `There is no such ${kind}` }).waitFor()
      await opened.page.getByRole('main').getByRole('link', { name: /^All / }).waitFor()
      // The others differ in a word.
      if (kind === 'page') await checkAccess(opened.page)
    }
  })
})

/** Whether the notice is within what the window shows. */
async function isOnScreen(page: Page): Promise<boolean> {
  const [box, size] = [await notice(page).boundingBox(), page.viewportSize()]
  return box !== null && size !== null && box.y >= 0 && box.y + box.height <= size.height
}
