import type { ChildProcess } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'

const NAMES = ['chromium-headless-shell', 'chromium', 'google-chrome', 'chromium-browser']
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // A page lives too short for what threads of its own optimise: a tenth of its CPU.
  '--js-flags=--single-threaded --no-opt',
]

/** The browser of this machine; `null` when it has none. */
export function findChromium(): string | null {
  const places = (process.env.PATH ?? '').split(delimiter)
  return places.flatMap((place) => NAMES.map((name) => join(place, name))).find(isExecutable) ?? null
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** A tab with cookies of its own. Its disposer takes from it what it was given, and keeps it for who comes next. */
export interface Tab extends AsyncDisposable {
  page: Page
}

interface Chromium {
  browser: Browser
  /** Whether this process goes on for as long as it runs. */
  hold(is_held: boolean): void
}

let running: Promise<Chromium> | undefined
/** Tabs that nobody uses. */
const parked: Page[] = []
let used = 0

/**
 * A tab of this process's Chromium, which the first one starts. Tabs are used again, also by other files of this process: in a new
 * one the browser reads and compiles anew what the service serves, and a page costs four times as much.
 */
export async function openTab(): Promise<Tab> {
  running ??= launch()
  const { browser, hold } = await running
  if (used++ === 0) hold(true)
  const release = () => {
    if (--used === 0) hold(false)
  }
  const page =
    parked.pop() ??
    (await newPage(browser).catch((error) => {
      release()
      throw error
    }))
  return {
    page,
    async [Symbol.asyncDispose]() {
      await park(page)
      release()
    },
  }
}

async function launch(): Promise<Chromium> {
  const executablePath = findChromium()
  if (!executablePath) throw new Error('There is no Chromium on this machine.')
  const children: ChildProcess[] = []
  const onChild = (message: unknown) => void children.push((message as { process: ChildProcess }).process)
  subscribe('child_process', onChild)
  try {
    const browser = await chromium.launch({
      ...{ executablePath, args: ARGUMENTS },
      // They would stay for all that this process does. It takes the browser with it however it ends.
      ...{ handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false },
    })
    browser.once('disconnected', () => {
      running = undefined
      parked.length = 0
    })
    // What a child runs is known only after it was announced.
    const child = children.find(({ spawnfile }) => spawnfile === executablePath)
    if (!child) throw new Error('The process of Chromium is not known.')
    const handles = [child, ...child.stdio] as Array<{ ref?(): void; unref?(): void } | null | undefined>
    return {
      browser,
      hold(is_held) {
        for (const handle of handles) {
          if (is_held) handle?.ref?.()
          else handle?.unref?.()
        }
      },
    }
  } finally {
    unsubscribe('child_process', onChild)
  }
}

async function newPage(browser: Browser): Promise<Page> {
  const context = await browser.newContext({
    permissions: ['clipboard-read', 'clipboard-write'],
    // Nobody looks, and each frame of what moves is drawn.
    reducedMotion: 'reduce',
  })
  return context.newPage()
}

async function park(page: Page): Promise<void> {
  try {
    for (const event of ['console', 'pageerror', 'dialog', 'request'])
      await page.removeAllListeners(event, { behavior: 'ignoreErrors' })
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    // The web page stays loaded, where nothing is asked for. Elsewhere than on the same site another process would show the next,
    // and what this one has compiled is lost.
    if (await isWebPage(page)) {
      // A dialog of the frame around all pages would stay open.
      await page.keyboard.press('Escape')
      await moveTo(page, '/nowhere')
    } else await page.goto(new URL('/assets/mark.svg', page.url()).href)
    await page.evaluate(() => {
      sessionStorage.clear()
      localStorage.clear()
    })
    await page.context().clearCookies()
    parked.push(page)
  } catch {
    // It crashed, or its service is gone.
    await page.context().close()
  }
}

export const isWebPage = (page: Page): Promise<boolean> => page.evaluate('typeof __TSR_ROUTER__ === "object"')

/** Goes to another page as links do, without loading it, which costs ten times as much. Data read seconds before may be shown again. */
export async function moveTo(page: Page, path: string): Promise<void> {
  // Until then the page before could be taken for this one.
  await page.evaluate(`new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error('The page did not move in 30 s.')), 30_000)
    const leave = __TSR_ROUTER__.subscribe('onResolved', () => {
      leave()
      resolve()
    })
    history.pushState({}, '', ${JSON.stringify(path)})
  })`)
}

/** What a page did that it should not have done, so far. A page that behaves leaves it empty. */
export function watchPage(page: Page, origin: string): string[] {
  const complaints: string[] = []
  // A tab may still show the page of another service, which goes on asking that one until this page takes its place.
  const isHere = (): boolean => page.url().startsWith(`${origin}/`)
  page.on('console', (message) => {
    if (!isHere()) return
    // Chromium breaks off what it asks for when an interface of the machine comes or goes, as with each container of other tests.
    // The page asks again.
    if (message.text().includes('net::ERR_NETWORK_CHANGED')) return
    // Violations of the Content-Security-Policy are errors here too.
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', (error) => {
    if (isHere()) complaints.push(String(error))
  })
  page.on('dialog', async (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`)
    await dialog.dismiss()
  })
  page.on('request', (request) => {
    const { protocol, origin: target } = new URL(request.url())
    if (isHere() && target !== origin && protocol !== 'data:')
      complaints.push(`outside request: ${request.url()}`)
  })
  return complaints
}
