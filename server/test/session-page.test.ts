import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, BrowserContext } from 'playwright-core'
import type { RunItem } from '../src/contract/run.ts'
import { reachKeys } from '../src/control.ts'
import { readSecretKey } from '../src/data-dir.ts'
import { createSessionLinks } from '../src/http/session-access.ts'
import { findChromium, openBrowser, watchPage } from './support/browser.ts'
import { openModelServer } from './support/model-server.ts'
import { answerCalls } from './support/scripted-calls.ts'
import { apiOf, shell, startService, type TestService } from './support/service.ts'

const skip = findChromium() ? false : 'there is no Chromium on this machine'
const MINUTE = 60_000
const session_sharing = { public_access: 'VIEWER' }
const HOSTILE_TITLE = '<img src=x onerror="window.pwned=1">'
const HOSTILE = String.raw`printf '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>\n'
printf '\033]0;stolen title\007\033[31mred\033[0m \033[2Jtext\n10%%\r99%%\n'
echo 'to the other stream' >&2`

describe('the session page', { skip }, () => {
  let service: TestService
  let api: ReturnType<typeof apiOf>
  let browser: Browser
  let origin: string
  let key_id: string

  before(async () => {
    service = await startService()
    api = apiOf(service)
    key_id = (await reachKeys(service.data_dir).list())[0]?.key_id ?? ''
    origin = new URL(service.base_url).origin
    browser = await openBrowser()
  })
  after(async () => {
    await browser?.close()
    await service?.stop()
  })

  const access = (run_id: string, body: unknown, headers: Record<string, string> = { origin }) =>
    fetch(`${origin}/sessions/${run_id}/access`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  /** A link as it was given out so many minutes ago. */
  const linkOf = (run_id: string, minutes_ago: number) =>
    createSessionLinks(
      { secret_key: readSecretKey(service.data_dir, undefined), public_url: origin },
      async () => null,
      () => Date.now() - minutes_ago * MINUTE,
    ).linkTo(run_id, { key_id })
  const tokenOf = (link: string) => new URL(link).hash.replace('#access=', '')
  const open = async (context: BrowserContext, link: string) => {
    const page = await context.newPage()
    const complaints = watchPage(page, origin)
    await page.goto(link)
    return { page, complaints }
  }
  const inContext = async (work: (context: BrowserContext) => Promise<void>) => {
    const context = await browser.newContext()
    await work(context).finally(() => context.close())
  }

  test('shows a run as it goes on, and all of its output as text', () =>
    inContext(async (context) => {
      const run_id = await api.create({
        title: HOSTILE_TITLE,
        prompt: `Look.\n${shell(HOSTILE)}`,
        config: { session_sharing },
      })
      const { page, complaints } = await open(context, (await api.get(run_id)).session_link)
      await page.locator('#state', { hasText: 'Succeeded' }).waitFor()

      assert.equal(page.url(), `${origin}/sessions/${run_id}`, 'the token has left the address')
      assert.equal(await page.locator('#title').textContent(), HOSTILE_TITLE)
      assert.equal(await page.locator('.asked .name').textContent(), 'dev')
      assert.match((await page.locator('.said').textContent()) ?? '', /Look\./)
      assert.equal(
        await page.locator('.output .stdout').textContent(),
        '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>\nred text\n99%\n',
      )
      assert.equal(await page.locator('.output .stderr').textContent(), 'to the other stream\n')
      assert.match((await page.locator('.tool-meta').last().textContent()) ?? '', /exit 0/)
      assert.match((await page.locator('.end').textContent()) ?? '', /Succeeded after/)
      assert.match(await page.title(), /^Succeeded · /)
      assert.equal(await page.locator('img, script:not([src])').count(), 0)

      // The page stays: what a follow-up does arrives by itself.
      await page.evaluate('window.never_left = true')
      await api.call('POST', `/agent/runs/${run_id}/followups`, {
        message: `Again.\n${shell('echo and once more; exit 3')}`,
      })
      await page.locator('#state', { hasText: 'Failed' }).waitFor()
      assert.equal(await page.locator('.asked').count(), 2)
      assert.equal(await page.locator('#waiting > *').count(), 0, 'a delivered follow-up waits no more')
      assert.equal(await page.locator('.output').last().textContent(), 'and once more\n')
      assert.match((await page.locator('.end').last().textContent()) ?? '', /exit code 3/)
      assert.equal(await page.evaluate('window.never_left'), true)
      assert.equal(await page.evaluate('window.pwned'), undefined)
      assert.deepEqual(complaints, [])

      // The log read from its start gives the same page.
      const seen = await page.locator('#log').textContent()
      await page.reload()
      await page.locator('.end').nth(1).waitFor()
      assert.equal(await page.locator('#log').textContent(), seen)
    }))

  test('shows output while the command still runs', () =>
    inContext(async (context) => {
      const run_id = await api.create({ prompt: shell('echo first; sleep 600'), config: { session_sharing } })
      const { page } = await open(context, (await api.get(run_id)).session_link)
      await page.locator('.output', { hasText: 'first' }).waitFor()
      assert.equal(await page.locator('#state').textContent(), 'Running')
      assert.match((await page.locator('#activity').textContent()) ?? '', /^Working/)
      await api.call('POST', `/agent/runs/${run_id}/cancel`)
      await page.locator('.end', { hasText: 'Cancelled' }).waitFor()
      assert.equal(await page.locator('.tool:not(.setup)').getAttribute('data-status'), 'failed')
      assert.equal(await page.locator('#activity').isHidden(), true)
    }))

  test("shows a model's words as they come, and keeps the message they become", () =>
    inContext(async (context) => {
      const text = 'Some **words** that come one at a time, and `code` with them, up to the end.'
      // A page shows what comes while it is open: the stream waits for the page, and its end until the words were seen.
      const chunks = text.split(/(?= )/)
      const [page_is_open, words_were_seen] = [Promise.withResolvers(), Promise.withResolvers()]
      const pace = (chunk: number) => (chunk < chunks.length ? page_is_open : words_were_seen).promise
      await using model = await openModelServer([{ text: chunks, pace }])
      const env = { OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: model.url, RUNYARD_SLOTS: '1' }
      const other = await startService({ env })
      try {
        const with_model = apiOf(other)
        // The page is opened before its run begins.
        const before = await with_model.create({
          prompt: shell('sleep 600'),
          config: { harness: { type: 'runbook' } },
        })
        await with_model.until(before, ({ state }) => state === 'INPROGRESS')
        const run_id = await with_model.create({
          prompt: 'Speak.',
          config: { model_id: 'openai/scripted', session_sharing },
        })
        const page = await context.newPage()
        await page.goto((await with_model.get(run_id)).session_link)
        await page.locator('#log .asked', { hasText: 'Speak.' }).waitFor()
        assert.equal(await page.locator('#fact-agent').textContent(), 'openai/scripted')
        await with_model.call('POST', `/agent/runs/${before}/cancel`)
        page_is_open.resolve(null)
        await page.locator('#drafts .said', { hasText: 'Some words' }).waitFor()
        assert.equal(await page.locator('#log .said').count(), 0)
        words_were_seen.resolve(null)
        await page.locator('.end').waitFor()
        assert.equal(await page.locator('#drafts > *').count(), 0)
        assert.equal(await page.locator('#log .said').textContent(), text.replace(/\*\*|`/g, ''))
        assert.equal(await page.locator('#fact-tokens').textContent(), '15')
        await page.locator('#fact-agent', { hasText: 'oz · openai/scripted' }).waitFor({ state: 'attached' })
      } finally {
        await other.stop()
      }
    }))

  test('shows the plan, what was attached and what was named, each once and as text', () =>
    inContext(async (context) => {
      const step = (status: string) => ({ step: HOSTILE_TITLE, status })
      await using model = await openModelServer(answerCalls)
      const env = { OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: model.url }
      const other = await startService({ env })
      try {
        const with_model = apiOf(other)
        const run_id = await with_model.create({
          prompt: JSON.stringify([
            ['plan', { steps: [step('in_progress')] }],
            ['plan', { steps: [step('done')] }],
            ['bash', { command: 'echo report > r.txt' }],
            ['attach_artifact', { path: 'r.txt', title: HOSTILE_TITLE }],
            ['report_reference', { url: 'https://example.com/1', title: 'One' }],
            ['report_reference', { url: 'https://example.com/1', title: HOSTILE_TITLE, type: 'ticket' }],
          ]),
          config: { model_id: 'openai/scripted', session_sharing },
        })
        await with_model.ended(run_id, 60)
        const page = await context.newPage()
        await page.goto((await with_model.get(run_id)).session_link)
        await page.locator('.end').waitFor()
        assert.deepEqual(await page.locator('#artifact-list > li').allTextContents(), [
          'Plan1 of 1 done',
          `${HOSTILE_TITLE}7 B`,
          `${HOSTILE_TITLE}ticket`,
        ])
        assert.equal(await page.locator('#artifact-list a').getAttribute('href'), 'https://example.com/1')
        assert.deepEqual(await page.locator('#log .note.artifact').allTextContents(), [
          `Plan: 0 of 1 done, now: ${HOSTILE_TITLE}`,
          'Plan: 1 of 1 done',
          `Kept ${HOSTILE_TITLE}7 B`,
          'Reported Oneother',
          `Reported ${HOSTILE_TITLE}ticket`,
        ])
        assert.equal(await page.evaluate('window.pwned'), undefined)
      } finally {
        await other.stop()
      }
    }))

  test('gives a cookie that opens its own session and nothing else', () =>
    inContext(async (context) => {
      const [mine, other] = [
        await api.create({ prompt: 'a', config: { session_sharing } }),
        await api.create({ prompt: 'b', config: { session_sharing } }),
      ]
      const { page } = await open(context, (await api.get(mine)).session_link)
      await page.locator('#session').waitFor()
      const [cookie, ...more] = await context.cookies()
      assert(cookie && more.length === 0)
      const { path, httpOnly, sameSite, secure, value } = cookie
      assert.deepEqual(
        { path, httpOnly, sameSite, secure },
        { path: `/sessions/${mine}`, httpOnly: true, sameSite: 'Strict', secure: false },
      )
      const hours = (cookie.expires - Date.now() / 1000) / 3600
      assert(hours > 11.9 && hours <= 12, `it lasts ${hours} hours`)

      const headers = { cookie: `${cookie.name}=${value}` }
      assert.equal((await fetch(`${origin}/sessions/${mine}/run`, { headers })).status, 200)
      assert.equal((await fetch(`${origin}/sessions/${other}/run`, { headers })).status, 401)
      assert.equal((await fetch(`${origin}/sessions/${other}/events`, { headers })).status, 401)
      assert.equal((await fetch(`${service.base_url}/agent/runs/${mine}`, { headers })).status, 401)
      // A link's token is no cookie, a cookie no token, and the page's view of the run holds no fresh token.
      const token = tokenOf(linkOf(mine, 0))
      const as_cookie = { cookie: `${cookie.name}=${token}` }
      assert.equal((await fetch(`${origin}/sessions/${mine}/run`, { headers: as_cookie })).status, 401)
      assert.equal((await access(mine, { token: value })).status, 401)
      const run = (await (await fetch(`${origin}/sessions/${mine}/run`, { headers })).json()) as RunItem
      assert.equal(run.run_id, mine)
      assert.equal(run.session_link, `${origin}/sessions/${mine}`)
    }))

  test('refuses links that are old, forged or of another session, kindly, and takes a key instead', () =>
    inContext(async (context) => {
      const [run_id, other] = [
        await api.create({ prompt: 'a', config: { session_sharing } }),
        await api.create({ prompt: 'b', config: { session_sharing } }),
      ]
      assert.equal((await access(run_id, { token: tokenOf(linkOf(run_id, 10)) })).status, 204)
      assert.equal((await access(run_id, { token: tokenOf(linkOf(run_id, 20)) })).status, 401)
      assert.equal((await access(run_id, { token: tokenOf(linkOf(other, 0)) })).status, 401)
      assert.equal(
        (await access(run_id, { token: `${Math.ceil(Date.now() / 1000) + 600}.AAAA` })).status,
        401,
      )
      assert.equal((await access(run_id, {})).status, 401)

      const { page } = await open(context, linkOf(run_id, 20))
      await page.locator('#reason', { hasText: '15 minutes' }).waitFor()
      assert.equal(new URL(page.url()).hash, '')
      await page.getByLabel('API key').fill('ry_wrong')
      await page.getByRole('button', { name: 'Open' }).click()
      await page.locator('#reason', { hasText: 'The key is not complete' }).waitFor()
      assert.equal(await page.locator('#session').isHidden(), true)
      await page.getByLabel('API key').fill(service.api_key)
      await page.keyboard.press('Enter')
      await page.locator('#state').waitFor()
      assert.equal(await page.locator('#sign-in').isHidden(), true)
    }))

  test('is opened by its own page only', async () => {
    const run_id = await api.create({ prompt: 'a', config: { session_sharing } })
    const body = { token: tokenOf(linkOf(run_id, 0)) }
    assert.equal((await access(run_id, body, { origin: 'https://elsewhere.example' })).status, 403)
    assert.equal((await access(run_id, body, { origin: 'null' })).status, 403)
    assert.equal((await access(run_id, body, {})).status, 403)
    assert.equal((await access(run_id, body, { origin, 'sec-fetch-site': 'cross-site' })).status, 403)
    assert.equal((await access(run_id, body, { origin, 'content-type': 'text/plain' })).status, 415)
    const same = await access(run_id, body, { origin, 'sec-fetch-site': 'same-origin' })
    assert.equal(same.status, 204)
    assert.equal(same.headers.get('cache-control'), 'no-store')
    const with_key = { origin, authorization: `Bearer ${service.api_key}` }
    assert.equal((await access(run_id, {}, with_key)).status, 204)
    assert.equal((await access(run_id.replace(/.$/, '_'), {}, with_key)).status, 404)
  })

  test('is served with headers that leave nothing to chance', async () => {
    const run_id = await api.create({ prompt: 'a', config: { session_sharing } })
    const page = await fetch(`${origin}/sessions/${run_id}`)
    assert.equal(page.status, 200)
    const policy = page.headers.get('content-security-policy') ?? ''
    for (const directive of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"]) {
      assert(policy.includes(directive), policy)
    }
    assert(!policy.includes('unsafe'), policy)
    assert.equal(page.headers.get('x-content-type-options'), 'nosniff')
    assert.equal(page.headers.get('referrer-policy'), 'no-referrer')

    const script = await fetch(`${origin}/assets/session/session.js`)
    const etag = script.headers.get('etag') ?? ''
    assert.equal(script.headers.get('cache-control'), 'no-cache')
    assert.equal(script.headers.get('x-content-type-options'), 'nosniff')
    // Without a Cache-Control of its own, fetch would ask for a fresh copy.
    const headers = { 'if-none-match': etag, 'cache-control': 'max-age=0' }
    const again = await fetch(`${origin}/assets/session/session.js`, { headers })
    assert.equal(again.status, 304)
    for (const path of ['package.json', 'session/session.html', '%2e%2e/package.json', 'tsconfig.json']) {
      assert.equal((await fetch(`${origin}/assets/${path}`)).status, 404, path)
    }
  })

  test('says that a run is not there only to those who may see it', () =>
    inContext(async (context) => {
      const unknown = '01980000-0000-7000-8000-000000000000'
      for (const id of ['x', 'null', unknown.slice(1)]) {
        const page = await fetch(`${origin}/sessions/${id}`)
        assert.equal(page.status, 404)
        assert.match(await page.text(), /There is no run here/)
      }
      for (const id of [unknown, 'x']) {
        const data = await fetch(`${origin}/sessions/${id}/run`)
        assert.equal(data.status, 401)
        assert.match(data.headers.get('content-type') ?? '', /problem\+json/)
      }
      const { page } = await open(context, `${origin}/sessions/${unknown}`)
      await page.getByLabel('API key').fill(service.api_key)
      await page.keyboard.press('Enter')
      await page.locator('#reason', { hasText: 'There is no such run' }).waitFor()
    }))

  test('says so while the service is away', () =>
    inContext(async (context) => {
      const run_id = await api.create({ prompt: 'a', config: { session_sharing } })
      const { page } = await open(context, (await api.get(run_id)).session_link)
      await page.locator('.end').waitFor()
      assert.equal(await page.locator('#connection').isHidden(), true)
      await service.stop()
      await page.locator('#connection', { hasText: 'Reconnecting…' }).waitFor()
    }))
})
