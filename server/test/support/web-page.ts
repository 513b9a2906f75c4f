import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { isWebPage, moveTo, openTab, type Tab, watchPage } from './browser.ts'
import type { TestService } from './service.ts'

export { moveTo } from './browser.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export interface OpenPage extends Tab {
  /** What it did that it should not have done, so far. */
  complaints: string[]
}

/** A page at an address of the service, in a tab without cookies but for those of who is signed in. */
export async function openPage(
  service: Pick<TestService, 'base_url' | 'api_key'>,
  { at = '/', is_signed_in = true, width = 1280, dark = false, reads_ahead = false } = {},
): Promise<OpenPage> {
  const { origin } = new URL(service.base_url)
  await using opening = new AsyncDisposableStack()
  const { page } = opening.use(await openTab())
  if (is_signed_in) await signIn(page, origin, service.api_key)
  await page.setViewportSize({ width, height: 900 })
  await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' })
  if (!reads_ahead) opening.use(await page.addInitScript(NEVER_IDLE))
  const is_loaded =
    is_signed_in && !reads_ahead && page.url().startsWith(`${origin}/`) && (await isWebPage(page))
  if (is_loaded) await page.evaluate(FORGET)
  const complaints = watchPage(page, origin)
  if (is_loaded) await moveTo(page, at)
  else await page.goto(origin + at)
  if (is_signed_in) await page.getByRole('link', { name: 'Runyard' }).first().waitFor()
  const opened = opening.move()
  return { page, complaints, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** To read the code of all other pages ahead takes as long as the page does, so browsers of tests always have something else to do. */
const NEVER_IDLE = { content: 'window.requestIdleCallback = () => 0' }

/** Has a page that is loaded already read all data again, who is signed in as well. */
const FORGET = `(() => {
  __TANSTACK_QUERY_CLIENT__.removeQueries({ type: 'inactive', predicate: ({ queryKey }) => queryKey[0] !== 'code' })
  return __TANSTACK_QUERY_CLIENT__.resetQueries({ type: 'active' }).then(() => undefined)
})()`

async function signIn(page: Page, origin: string, api_key: string): Promise<void> {
  const answer = await page.context().request.post(`${origin}/web/session`, {
    headers: { authorization: `Bearer ${api_key}`, 'x-runyard-page': '1', origin },
  })
  assert.equal(answer.status(), 200, await answer.text())
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
  // Half-way from one colour to another nothing is readable.
  await ask(
    'Promise.all(document.getAnimations().filter((one) => one instanceof CSSTransition).map((one) => one.finished.catch(() => {}))).then(() => null)',
  )
  // Once a document, which stays while the page is moved through.
  if (await ask('typeof axe === "undefined"')) await ask(AXE)
  const found = (await ask(
    'axe.run({ resultTypes: ["violations"], selectors: false }).then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map((n) => n.html.slice(0, 200) + " " + n.failureSummary).join(" | ")))',
  )) as string[]
  await client.detach()
  assert.deepEqual(found, [])
}
