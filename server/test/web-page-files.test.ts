/** The files of a run's workspace, in Chromium. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { findChromium } from './support/browser.ts'
import { apiOf, shell, startService, type TestService } from './support/service.ts'
import { checkAccess, openPage } from './support/web-page.ts'

const skip = findChromium() ? false : 'there is no Chromium on this machine'
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
const MAKE = `mkdir -p src/lib/deep docs; cd src
echo 'export const total = 1 // one' > total.ts; echo 'deep' > lib/deep/end.txt; ln -s total.ts link.ts; cd ..
printf '# Notes\\n\\n**bold** <b>no</b>\\n' > docs/notes.md; echo ${PIXEL} | base64 -d > docs/dot.png
printf 'a\\0b' > program; echo plain > LICENSE; head -c 2000000 /dev/zero > large; chmod 755 program`

/** A refusal if it is not there, or is no file. */
const isUnexpected = (complaint: string): boolean => !/status of 40[04]/.test(complaint)

describe('the files of a run on the page', { skip }, () => {
  let service: TestService
  let run_id: string
  before(async () => {
    service = await startService()
    const api = apiOf(service)
    run_id = await api.create({ title: 'Count totals', prompt: shell(MAKE) })
    await api.ended(run_id)
    await api.json('POST', `/agent/runs/${run_id}/followups`, {
      message: shell('echo "export const total = 2" > src/total.ts; rm LICENSE'),
    })
    await api.ended(run_id)
  })
  after(() => service?.stop())

  test('a tree opens folder by folder, and shows a file as what it is', async () => {
    await using opened = await openPage(service, { at: `/sessions/${run_id}` })
    const { page, complaints } = opened
    await page.getByRole('link', { name: 'Browse files' }).click()
    const row = (name: string) => page.getByRole('treeitem', { name: new RegExp(`^${name}`) })
    await row('src').click()
    await row('total.ts').click()
    await page.getByRole('heading', { name: 'src/total.ts' }).waitFor()
    await page.locator('[data-preview=text] .hljs-keyword', { hasText: 'export' }).waitFor()
    assert.match((await page.locator('[data-preview=text]').textContent()) ?? '', /total = 2/)

    await page.getByLabel('Turn').selectOption({ label: 'After turn 1' })
    await page.locator('[data-preview=text]', { hasText: 'total = 1 // one' }).waitFor()
    await page.getByRole('treeitem', { name: 'LICENSE' }).click()
    await page.locator('[data-preview=text]', { hasText: 'plain' }).waitFor()
    await page.getByLabel('Turn').selectOption({ label: 'After turn 2 (newest)' })
    await page
      .getByRole('alert')
      .filter({ hasText: 'There is no LICENSE in the workspace as turn 2' })
      .waitFor()

    await row('docs').click()
    await row('notes.md').click()
    await page.locator('[data-preview=markdown] strong', { hasText: 'bold' }).waitFor()
    assert.equal(await page.locator('[data-preview=markdown] b').count(), 0, 'HTML stays text')
    await row('dot.png').click()
    await page.locator('[data-preview=picture] img').waitFor()
    await page.evaluate("document.querySelector('[data-preview=picture] img').decode().then(() => null)")
    await row('program').click()
    await page.getByRole('alert').filter({ hasText: 'This is not a text file' }).waitFor()
    await row('large').click()
    await page.getByText('This file has 2.0 MB; up to 1.0 MB are shown here. Download it instead.').waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ])
    assert.equal(download.suggestedFilename(), 'large')
    await row('artifacts').click()
    await page.getByRole('tree').getByText('Empty').waitFor()
    await checkAccess(page)
    assert.deepEqual(complaints.filter(isUnexpected), [])
  })

  test('is walked through by keyboard, and an address leads to a file', async () => {
    await using opened = await openPage(service, {
      at: `/sessions/${run_id}/files?path=src/lib/deep/end.txt`,
      ...{ width: 380, dark: true },
    })
    const { page, complaints } = opened
    await page.locator('[data-preview=text]', { hasText: 'deep' }).waitFor()
    const reached = () => page.evaluate("document.activeElement.querySelector('[title]')?.title")
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key)
      return reached()
    }
    // Its folders are open.
    await page.getByRole('treeitem', { name: 'end.txt' }).waitFor()
    await page.getByRole('treeitem', { name: 'artifacts' }).focus()
    assert.equal(await press('ArrowDown'), 'attachments')
    assert.equal(await press('End', 'Home'), 'artifacts')
    assert.equal(await press('ArrowDown', 'ArrowDown', 'ArrowDown'), 'src')
    assert.equal(await press('ArrowRight'), 'lib')
    assert.equal(await press('ArrowRight', 'ArrowRight'), 'end.txt')
    assert.equal(await press('ArrowLeft', 'ArrowLeft'), 'deep', 'first to the folder, which is then closed')
    await page.getByRole('treeitem', { name: 'end.txt' }).waitFor({ state: 'detached' })
    assert.equal(await press('ArrowDown', 'ArrowDown'), 'total.ts')
    await press('Enter')
    await page.getByRole('heading', { name: 'src/total.ts' }).waitFor()
    await page.getByRole('treeitem', { name: 'link.ts (link to total.ts)' }).click()
    await page
      .getByRole('alert')
      .filter({ hasText: 'is a link to total.ts. Links are not followed' })
      .waitFor()
    const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
    assert(Number(overflow) <= 0, 'nothing is wider than a narrow screen')
    await checkAccess(page)
    assert.deepEqual(complaints.filter(isUnexpected), [])
  })
})
