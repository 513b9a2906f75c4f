import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { watchPage } from './browser.ts'
import type { TestService } from './service.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export interface OpenPage extends AsyncDisposable {
  page: Page
  /** What it did that it should not have done, so far. */
  complaints: string[]
}

/** Of each browser, by who is signed in where. */
const signedIn = new WeakMap<Browser, Map<string, BrowserContext>>()

async function openContext(
  browser: Browser,
  origin: string,
  api_key: string | undefined,
): Promise<BrowserContext> {
  const contexts = signedIn.get(browser) ?? new Map<string, BrowserContext>()
  signedIn.set(browser, contexts)
  const known = contexts.get(`${origin} ${api_key}`)
  if (known && api_key !== undefined) return known
  const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] })
  if (api_key !== undefined) {
    const answer = await context.request.post(`${origin}/web/session`, {
      headers: { authorization: `Bearer ${api_key}`, 'x-runyard-page': '1', origin },
    })
    assert.equal(answer.status(), 200, await answer.text())
    contexts.set(`${origin} ${api_key}`, context)
  }
  return context
}

/**
 * A page at an address of the service. Pages of one key share what the browser keeps of the service's files, since to read and
 * compile these anew costs a second; it keeps nothing else. Who is not signed in has a browser without history.
 */
export async function openPage(
  browser: Browser,
  service: Pick<TestService, 'base_url' | 'api_key'>,
  { at = '/', is_signed_in = true, width = 1280, dark = false } = {},
): Promise<OpenPage> {
  const { origin } = new URL(service.base_url)
  const context = await openContext(browser, origin, is_signed_in ? service.api_key : undefined)
  const page = await context.newPage()
  await page.setViewportSize({ width, height: 900 })
  await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' })
  const complaints = watchPage(page, origin)
  await page.goto(origin + at)
  if (is_signed_in) await page.getByRole('link', { name: 'Runyard' }).first().waitFor()
  return {
    page,
    complaints,
    async [Symbol.asyncDispose]() {
      if (!is_signed_in) return context.close()
      await page.close()
    },
  }
}

/** Fails with what axe finds against WCAG 2.2 AA and its best practices. */
export async function checkAccess(page: Page): Promise<void> {
  // As a debugger does, which the page's Content-Security-Policy does not hold back.
  const client = await page.context().newCDPSession(page)
  const ask = async (expression: string) => {
    const { result, exceptionDetails } = await client.send('Runtime.evaluate', {
      ...{ expression, awaitPromise: true, returnByValue: true },
    })
    assert.equal(exceptionDetails, undefined)
    return result.value
  }
  // Once a document, which stays while the page is moved through.
  if (await ask('typeof axe === "undefined"')) await ask(AXE)
  const found = (await ask(
    'axe.run({ resultTypes: ["violations"], selectors: false }).then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map((n) => n.html.slice(0, 200) + " " + n.failureSummary).join(" | ")))',
  )) as string[]
  await client.detach()
  assert.deepEqual(found, [])
}
