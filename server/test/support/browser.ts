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

export async function openBrowser(): Promise<Browser> {
  const executablePath = findChromium()
  if (!executablePath) throw new Error('There is no Chromium on this machine.')
  return chromium.launch({ executablePath, args: ARGUMENTS })
}

/** What a page did that it should not have done, so far. A page that behaves leaves it empty. */
export function watchPage(page: Page, origin: string): string[] {
  const complaints: string[] = []
  page.on('console', (message) => {
    // Violations of the Content-Security-Policy are errors here too.
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('dialog', async (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`)
    await dialog.dismiss()
  })
  page.on('request', (request) => {
    const { protocol, origin: target } = new URL(request.url())
    if (target !== origin && protocol !== 'data:') complaints.push(`outside request: ${request.url()}`)
  })
  return complaints
}
