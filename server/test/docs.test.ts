import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ERRORS, ErrorBody } from '../src/contract/error.ts'
import { ROUTES } from '../src/contract/routes.ts'
import { RunStatusMessage } from '../src/contract/state.ts'
import { findChromium, openTab, watchPage } from './support/browser.ts'
import { apiOf, startService, type TestService } from './support/service.ts'
import { checkAccess } from './support/web-page.ts'

describe('the documentation', () => {
  let service: TestService
  let origin: string

  before(async () => {
    service = await startService()
    origin = new URL(service.base_url).origin
  })
  after(() => service?.stop())

  const read = async (path: string) => {
    const answer = await fetch(origin + path)
    return { status: answer.status, headers: answer.headers, text: await answer.text() }
  }

  test('every link on its pages leads somewhere', async () => {
    const seen = new Set<string>()
    const wanted = ['/docs']
    for (const path of wanted) {
      const { status, text, headers } = await read(path)
      assert.equal(status, 200, path)
      if (!headers.get('content-type')?.startsWith('text/html')) continue
      const policy = headers.get('content-security-policy') ?? ''
      assert(policy.startsWith("default-src 'none'") && !policy.includes('unsafe'), `${path}: ${policy}`)
      assert(!/<script>|<style|style=|onclick=/.test(text), `${path} has something inline`)
      const [, base = ''] = /<base href="([^"]+)">/.exec(text) ?? []
      for (const [, link = ''] of text.matchAll(/<(?:a|link|script)[^>]* (?:href|src)="([^"]*)"/g)) {
        const { pathname } = new URL(link, new URL(base, origin + path))
        if (!seen.has(pathname)) wanted.push(pathname)
        seen.add(pathname)
      }
    }
    assert(seen.has('/docs/errors/conflict') && seen.has('/api/v1/openapi.json') && seen.has('/docs/api'))
  })

  test('has a page for each error code', async () => {
    const { text: index } = await read('/docs/errors')
    for (const [code, { status, title }] of Object.entries(ERRORS)) {
      assert(index.includes(`docs/errors/${code}`), code)
      const page = await read(`/docs/errors/${code}`)
      assert.equal(page.status, 200, code)
      for (const part of [code, String(status), title]) assert(page.text.includes(part), `${code}: ${part}`)
      const [, cause = '', fix = ''] =
        /<h2>What happened<\/h2>\s*<p>([^<]*)<\/p>\s*<h2>What helps<\/h2>\s*<p>([^<]*)<\/p>/.exec(
          page.text,
        ) ?? []
      assert(cause.length > 40 && fix.length > 40 && cause !== fix, code)
      const [, shown = ''] = /<pre[^>]*><code>([^<]*)<\/code>/.exec(page.text) ?? []
      const example: unknown = JSON.parse(
        shown.replace(/&#(\d+);/g, (_, n: string) => String.fromCharCode(Number(n))),
      )
      if (typeof example === 'object' && example !== null && 'status_message' in example) {
        const { error_code, message } = RunStatusMessage.parse(example.status_message)
        assert.equal(error_code, code)
        assert(message.length > 10, code)
        continue
      }
      const problem = ErrorBody.parse(example)
      assert.equal(problem.error_code, code)
      assert.equal(problem.type, `${origin}/docs/errors/${code}`)
      assert.equal(problem.error, `${title} (${problem.detail})`)
      assert(String(problem.instance).startsWith('/api/v1/'), code)
    }
    // A real answer is what its page shows.
    const answer = await apiOf(service).call('POST', '/agent/runs', {})
    const real = (await answer.json()) as ErrorBody
    const { text: page } = await read('/docs/errors/invalid_request')
    for (const part of [real.detail, real.instance, real.title]) assert(page.includes(String(part)), part)
    const unknown = await read('/docs/errors/%3Cscript%3Ealert(1)%3C%2Fscript%3E')
    assert.equal(unknown.status, 404)
    assert(!unknown.text.includes('alert(1)'))
  })

  test('is where the type of an error leads', async () => {
    const answer = await apiOf(service).call('GET', '/agent/runs/no-such-run')
    const { type, error_code } = (await answer.json()) as ErrorBody
    assert.equal(answer.status, 404)
    const page = await fetch(type)
    assert.equal(page.status, 200)
    assert((await page.text()).includes(error_code))
  })

  const skip = findChromium() ? false : 'there is no Chromium on this machine'
  test('shows every operation of the API in a browser, with nothing from outside', { skip }, async () => {
    await using tab = await openTab()
    const { page } = tab
    const complaints = watchPage(page, origin)
    await page.goto(`${origin}/docs/api`)
    const operations = page.locator('.opblock')
    await operations.first().waitFor()
    assert.equal(await operations.count(), Object.keys(ROUTES).length)
    await operations.first().locator('.opblock-summary-control').click()
    await page.getByRole('button', { name: 'Try it out' }).waitFor()
    const samples = page.getByRole('region', { name: 'Request samples' })
    const sample = samples.locator('code')
    assert((await sample.textContent())?.startsWith(`curl -sS ${origin}/api/v1/agent/runs `))
    await samples.getByRole('button', { name: 'Python' }).click()
    assert.match((await sample.textContent()) ?? '', /client\.runs\.create\(\n {4}prompt="Totals/)
    // Of the answer, and of a problem.
    const answers = (await page.locator('.responses-wrapper').textContent()) ?? ''
    assert.match(answers, /"state": "QUEUED"/)
    assert.match(answers, /"error_code": "authentication_required"/)
    assert.doesNotMatch(answers, /"string"/)
    assert.deepEqual(complaints, [])
    // Open, and with fields to fill in.
    await operations.nth(1).locator('.opblock-summary-control').click()
    await operations.nth(1).getByRole('button', { name: 'Try it out' }).click()
    await operations.nth(1).getByRole('combobox', { name: 'sort_by' }).waitFor()
    await checkAccess(page)
    assert.match(page.url(), /#\/.*list/i)
    for (const path of ['/docs', '/docs/errors/conflict', '/docs/nowhere']) {
      await page.goto(origin + path)
      await checkAccess(page)
    }
  })

  test('what its pages are made of is sent compressed', async () => {
    for (const path of ['/assets/swagger-ui/swagger-ui-bundle.js', '/api/v1/openapi.json']) {
      const plain = await fetch(origin + path, { headers: { 'accept-encoding': 'identity' } })
      const whole = await plain.text()
      assert.equal(plain.headers.get('content-encoding'), null)
      for (const encoding of ['br', 'gzip']) {
        const answer = await fetch(origin + path, { headers: { 'accept-encoding': encoding } })
        assert.equal(answer.headers.get('content-encoding'), encoding, path)
        assert.match(answer.headers.get('vary') ?? '', /accept-encoding/i)
        assert.equal(await answer.text(), whole)
      }
    }
  })
})
