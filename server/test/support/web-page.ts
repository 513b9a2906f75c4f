import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, Page } from 'playwright-core'
import { watchPage } from './browser.ts'
import { apiOf, type TestService } from './service.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export interface OpenPage extends AsyncDisposable {
  page: Page
  /** What it did that it should not have done, so far. */
  complaints: string[]
}

/** A browser without history at an address of the service; `at`: signed in by a fresh link, where it is a path. */
export async function openPage(
  browser: Browser,
  service: Pick<TestService, 'base_url' | 'api_key'>,
  { at = '/', is_signed_in = true, width = 1280, dark = false } = {},
): Promise<OpenPage> {
  const { origin } = new URL(service.base_url)
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: dark ? 'dark' : 'light',
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  const page = await context.newPage()
  const complaints = watchPage(page, origin)
  if (is_signed_in) {
    const link = await apiOf(service).json<{ url: string }>('POST', '/agent/sign-in-links', {})
    await page.goto(origin + new URL(link.url).pathname + new URL(link.url).hash)
    await page.getByRole('link', { name: 'Runyard' }).waitFor()
  }
  if (!is_signed_in || at !== '/') await page.goto(origin + at)
  return {
    page,
    complaints,
    [Symbol.asyncDispose]: () => context.close(),
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
    'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map((n) => n.html.slice(0, 200) + " " + n.failureSummary).join(" | ")))',
  )) as string[]
  await client.detach()
  assert.deepEqual(found, [])
}
