/** The web page in Chromium, as the people use it who look at runs. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { findChromium } from './support/browser.ts'
import { startFaultyProxy } from './support/faulty-proxy.ts'
import { type ChatRequest, type ModelServer, openModelServer, type Reply } from './support/model-server.ts'
import { startPathProxy } from './support/path-proxy.ts'
import { answerCalls } from './support/scripted-calls.ts'
import { apiOf, shell, startService, type TestService, temporaryDirectory } from './support/service.ts'
import { checkAccess, moveTo, openPage } from './support/web-page.ts'

const skip = findChromium() ? false : 'there is no Chromium on this machine'
const RUNBOOK = { harness: { type: 'runbook' } }
const HOSTILE = '<img src=x onerror="window.pwned=1">'
const state = (page: Page, words: string) => page.locator('header [data-state]', { hasText: words }).waitFor()

describe('the web page', { skip }, () => {
  let service: TestService
  let api: ReturnType<typeof apiOf>
  let model: ModelServer
  let repository: string
  /** Lets the model's next words go on, where a test holds them. */
  let words_were_seen = Promise.withResolvers<void>()

  const speak = (request: ChatRequest): Reply => {
    const prompt = String(request.messages.findLast(({ role }) => role === 'user')?.content)
    if (prompt.includes('Speak deeply')) return { text: `${'> '.repeat(5000)}deep ${HOSTILE}` }
    if (prompt.includes('Speak widely'))
      return { text: `${'|a'.repeat(8000)}\n${'|-'.repeat(8000)}\n${'|\n'.repeat(8000)}` }
    if (!prompt.includes('Speak slowly')) return answerCalls(request)
    const text = ['Some **bold** ', 'words, | and ', 'then the end.']
    return { text, pace: (chunk) => (chunk > 2 ? words_were_seen.promise : undefined) }
  }
  before(async () => {
    repository = temporaryDirectory('repository')
    writeFileSync(join(repository, 'sum.js'), 'export const sum = (a, b) => a - b\n')
    const git = (...args: string[]) => execFileSync('git', ['-C', repository, ...args])
    git('init', '--quiet')
    git('add', '.')
    git('-c', 'user.name=Ann', '-c', 'user.email=ann@example.com', 'commit', '--quiet', '-m', 'First')
    model = await openModelServer(speak)
    service = await startService({
      env: { OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: model.url, RUNYARD_LOCAL_REPOS: repository },
    })
    api = apiOf(service)
  })
  after(async () => {
    await service?.stop()
    await model?.close()
  })

  test('an empty list says how to start a run; one is started there, watched, and followed up', async () => {
    await using opened = await openPage(service)
    const { page, complaints } = opened
    await page.getByText('No run yet').waitFor()
    await checkAccess(page)
    await page.keyboard.press('c')
    await page.waitForURL(/\/new$/)
    await page.getByLabel('Prompt', { exact: true }).fill('Speak slowly, please.')
    await page.getByRole('tab', { name: 'Python' }).click()
    await page.getByText('client.runs.create_and_wait(').waitFor()
    await page.getByRole('tab', { name: 'curl' }).click()
    await page.getByText('"prompt": "Speak slowly, please."').waitFor()
    await checkAccess(page)
    await page.getByRole('button', { name: 'Start the run' }).click()

    await page.waitForURL(/\/sessions\//)
    await state(page, 'Running')
    await page.locator('[data-growing]', { hasText: 'Some bold words' }).waitFor()
    const composer = page.getByRole('textbox', { name: 'Message the agent' })
    await composer.fill('And this, when you can.')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.locator('[data-waiting]', { hasText: 'And this, when you can.' }).waitFor()
    words_were_seen.resolve()
    await state(page, 'Succeeded')
    assert.equal(await page.locator('[data-waiting], [data-growing]').count(), 0)
    assert.equal(await page.locator('[data-entry=said] strong').first().textContent(), 'bold')

    await page
      .getByRole('textbox', { name: 'Follow up' })
      .fill(JSON.stringify([['bash', { command: 'seq 400' }]]))
    await page.keyboard.press('Control+Enter')
    await page.locator('[data-block=bash]', { hasText: 'exit 0' }).waitFor()
    await state(page, 'Succeeded')
    await checkAccess(page)
    // Read from its start, the log gives the same page.
    const readLog = () => page.getByRole('log').locator('[data-index]').allTextContents()
    const seen = await readLog()
    assert.equal(await page.getByLabel('Last message').count(), 0, 'it was read as it came')
    await page.reload()
    await page.locator('[data-entry=end]').nth(1).waitFor()
    const found = await readLog()
    assert.deepEqual(found.slice(0, -2), seen.slice(0, -2))
    assert.match(found.at(-2) ?? '', /^The agent’s last message is at the top of the page$/)
    assert.equal(await page.getByLabel('Last message').textContent(), seen.at(-2), 'each text once')
    assert.deepEqual(complaints, [])
  })

  test('a message may stop what the agent does; the run is interrupted and cancelled from its header', async () => {
    words_were_seen = Promise.withResolvers()
    const run_id = await api.create({ prompt: 'Speak slowly.' })
    await using opened = await openPage(service, { at: `/sessions/${run_id}` })
    const { page, complaints } = opened
    await page.locator('[data-growing]').waitFor()
    await page
      .getByRole('textbox', { name: 'Message the agent' })
      .fill('[["bash", {"command": "sleep 600"}]]')
    await page.getByRole('button', { name: 'Stop and send' }).click()
    words_were_seen.resolve()
    await page.locator('[data-block=bash][data-status=running]').waitFor()
    await page.getByRole('button', { name: 'Interrupt' }).click()
    await page.locator('[data-entry=note]', { hasText: 'Interrupted' }).last().waitFor()
    // A person stopped it: it did not fail.
    await page.locator('[data-block=bash][data-status=stopped]').waitFor()

    const other = await api.create({ prompt: shell('sleep 600'), config: RUNBOOK })
    await moveTo(page, `/sessions/${other}`)
    await state(page, 'Running')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Keep running' }).click()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel the run' }).click()
    await state(page, 'Cancelled')
    assert.deepEqual(complaints, [])
  })

  test('a question is answered, and a call is allowed', async () => {
    const asking = await api.create({ prompt: '[["ask_user", {"question": "Which branch?"}]]' })
    await using opened = await openPage(service, { at: `/sessions/${asking}` })
    const { page, complaints } = opened
    await state(page, 'Waiting for you')
    await page.locator('[data-entry=end]', { hasText: 'Which branch?' }).waitFor()
    await page.getByRole('textbox', { name: 'Answer the agent' }).fill('main')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await state(page, 'Succeeded')

    const guarded = await api.create({
      prompt: '[["bash", {"command": "echo allowed"}]]',
      config: { permissions: [{ tool: 'bash', action: 'ask' }] },
    })
    await moveTo(page, `/sessions/${guarded}`)
    const question = page.locator('[data-entry=approval]')
    await question.getByRole('button', { name: 'Allow once' }).waitFor()
    await checkAccess(page)
    await question.getByRole('button', { name: 'Allow once' }).click()
    await state(page, 'Succeeded')
    await page.locator('[data-entry=approval]', { hasText: 'Allowed by dev' }).waitFor()
    assert.deepEqual(complaints, [])
  })

  test('the changes are seen line by line, and the patch is taken away', async () => {
    const repositories = [{ local_path: repository }]
    const environment = await api.json<{ uid: string }>('POST', '/agent/environments', {
      ...{ name: 'sum', repositories },
    })
    const command = `sed -i 's/a - b/a + b/' sum.js && printf '${HOSTILE}\\n' > 'two words.html'`
    const run_id = await api.create({
      title: 'Fix the sum',
      prompt: JSON.stringify([['bash', { command }]]),
      config: { environment_id: environment.uid },
    })
    await api.ended(run_id)
    await using opened = await openPage(service, { at: `/sessions/${run_id}` })
    const { page, complaints } = opened
    await page.getByRole('heading', { name: '2 files changed' }).waitFor()
    await page.locator('[data-line=removed]', { hasText: 'a - b' }).waitFor()
    await page.locator('[data-line=added]', { hasText: 'a + b' }).waitFor()
    await page.locator('[data-line=added]', { hasText: HOSTILE }).waitFor()
    await page.locator('[data-line=added] .hljs-keyword', { hasText: 'const' }).waitFor()
    await checkAccess(page)
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Patch' }).click()
    const patch = await (await download).path()
    execFileSync('git', ['-C', repository, 'apply', '--binary', patch])
    assert.match(readFileSync(join(repository, 'sum.js'), 'utf8'), /a \+ b/)
    await page.getByRole('button', { name: `runyard apply ${run_id.slice(-8)}` }).click()
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), `runyard apply ${run_id.slice(-8)}`)
    const colouring = await countCalls(page, /\/lowlight-/)
    for (const _ of 'xy') await page.getByRole('button', { name: 'sum.js', exact: false }).first().click()
    await page.locator('[data-line=added] .hljs-keyword', { hasText: 'const' }).waitFor()
    assert((await colouring.stop()) > 0, 'an opened file is coloured')
    await page.getByRole('button', { name: 'Comment on removed line 1' }).click()
    await page.keyboard.type('Say why.')
    await page.keyboard.press('Control+Enter')
    const focused = await page.evaluate("document.activeElement?.getAttribute('aria-label')")
    assert.equal(focused, 'Comment on removed line 1', 'the keyboard returns to the line')
    await page.getByRole('button', { name: 'Comment on line 1' }).first().click()
    const calls = await countCalls(page, /\/lowlight-/)
    await page.keyboard.type('And te')
    assert.equal(await calls.stop(), 0, 'no letter has the code coloured again')
    // Neither another line, nor folding the file, nor a wish to leave loses what is being written.
    await page.getByRole('button', { name: 'Comment on line 1' }).nth(1).click()
    for (const _ of 'xy') await page.getByRole('button', { name: 'sum.js', exact: false }).first().click()
    await page.getByRole('link', { name: 'Runyard' }).first().click()
    await page.getByRole('alertdialog').getByText('2 comments on the changes have not been sent.').waitFor()
    await checkAccess(page)
    await page.getByRole('button', { name: 'Stay here' }).click()
    const draft = page.getByRole('textbox', { name: 'Comment on line 1 of sum.js' })
    assert.equal(await draft.inputValue(), 'And te')
    await page.getByText('1 comment, not sent yet, and 1 draft.').waitFor()
    await draft.focus()
    await page.keyboard.press('End')
    await page.keyboard.type('st it.')
    await page.getByRole('button', { name: 'Add comment' }).first().click()
    await checkAccess(page)
    const send = page.getByRole('button', { name: 'Send 2 comments' })
    // Above the composer, wherever somebody reads.
    await page.evaluate('window.scrollTo({ top: 0 })')
    await page.setViewportSize({ width: 1280, height: 400 })
    const { y = -1, height = 0 } = (await send.boundingBox()) ?? {}
    assert(y > 0 && y + height < 400, `in view, not at ${y}`)
    await send.click()
    await page.setViewportSize({ width: 1280, height: 900 })
    const asked = page.locator('[data-entry=asked]', { hasText: 'Comments on the changes' })
    await asked.getByText('Say why.').waitFor()
    await asked.getByText('And test it.').waitFor()
    assert.equal(await page.locator('[data-comment]').count(), 0)
    await page.getByRole('button', { name: 'Comment on line 1' }).first().click()
    await page.keyboard.type('Never mind.')
    await page.getByRole('link', { name: 'Runyard' }).first().click()
    await page.getByRole('button', { name: 'Discard and leave' }).click()
    await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor()
    await page.goBack()
    await page.getByRole('button', { name: 'Comment on line 1' }).first().waitFor()
    assert.equal(await page.getByRole('textbox', { name: /^Comment on/ }).count(), 0)
    execFileSync('git', ['-C', repository, 'checkout', '--quiet', '.'])

    // A fork goes on with the workspace; a retry has the same prompt.
    await page.getByRole('link', { name: 'Fork', exact: true }).click()
    await page
      .getByLabel('Prompt', { exact: true })
      .fill('[["bash", {"command": "grep -c \'a + b\' sum.js"}]]')
    await page.getByRole('button', { name: 'Start the run' }).click()
    await page.getByText('Forked from').waitFor()
    await page.locator('[data-block=bash]', { hasText: 'exit 0' }).waitFor()
    await page.getByText('Forked from').locator('..').getByRole('link').click()
    // Not that of the fork, which is shown until the other run is there.
    const retry = page.getByRole('link', { name: 'Retry' }).and(page.locator(`[href*="${run_id}"]`))
    await retry.click()
    assert.match(await page.getByLabel('Prompt', { exact: true }).inputValue(), /sed -i/)
    assert.deepEqual(complaints, [])
  })

  test('the list is searched and filtered in its address, lives, and runs in it are cancelled', async () => {
    const waiting = await api.create({ title: 'Sleep long', prompt: shell('sleep 600'), config: RUNBOOK })
    const failing = await api.create({ title: 'Break early', prompt: shell('exit 3'), config: RUNBOOK })
    await api.ended(failing)
    await using opened = await openPage(service)
    const { page, complaints } = opened
    const row = (title: string) => page.getByRole('listitem').filter({ hasText: title })
    await row('Sleep long').getByText('Running').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('break')
    await page.waitForURL(/q=break/)
    await row('Sleep long').waitFor({ state: 'detached' })
    await page.getByLabel('State').selectOption({ label: 'Failed' })
    await page.waitForURL(/state=failed/)
    // Rows of the search before are pale until those of this one are read.
    await page.locator('ul[aria-busy=false]').waitFor()
    await page.evaluate(
      'Promise.all(document.querySelector("ul[aria-busy]").getAnimations().map(({ finished }) => finished))',
    )
    await checkAccess(page)
    // Whoever is sent the address sees the same.
    await page.reload()
    await row('Break early').waitFor()
    assert.equal(await page.getByRole('listitem').count(), 1)
    assert.equal(await page.getByLabel('State').inputValue(), 'failed')
    await page.getByLabel('State').selectOption('succeeded')
    await page.getByRole('button', { name: 'Show all runs' }).click()

    // The row says why it failed.
    const { status_message } = await api.get(failing)
    await row('Break early').getByText(String(status_message?.message).slice(0, 20)).waitFor()

    // On a wide screen what stands in a column is below its name; on a narrow one there is no room for names.
    const heading = page.getByText('Created', { exact: true })
    const edgeOf = async (place: Locator) => {
      const box = await place.boundingBox()
      return Math.round((box?.x ?? 0) + (box?.width ?? 0))
    }
    assert.equal(await edgeOf(heading), await edgeOf(row('Break early').locator('time')))
    await page.setViewportSize({ width: 380, height: 900 })
    await heading.waitFor({ state: 'hidden' })
    // There the reason has a line of its own, and the row room for it.
    const title = row('Break early').getByText('Break early', { exact: true })
    const [outer, inner] = [await row('Break early').boundingBox(), await title.boundingBox()]
    assert((inner?.y ?? 0) - (outer?.y ?? 0) >= 6, 'the title does not touch the line above it')
    await page.setViewportSize({ width: 1280, height: 900 })

    // What happens elsewhere is seen here.
    const other = await api.create({ title: 'Sleep more', prompt: shell('sleep 600'), config: RUNBOOK })
    await row('Sleep more').getByRole('checkbox').check()
    await page.getByRole('button', { name: 'Select all open runs shown' }).click()
    assert(await row('Sleep long').getByRole('checkbox').isChecked())
    await page.getByRole('button', { name: 'Clear the selection' }).click()
    await api.call('POST', `/agent/runs/${other}/cancel`)
    await row('Sleep more').getByText('Cancelled').waitFor()
    await row('Sleep long').getByRole('checkbox').check()
    await page.getByRole('button', { name: 'Cancel 1 run' }).click()
    const dimmed = await page.evaluate(
      'getComputedStyle(document.querySelector(".bg-scrim")).backgroundColor',
    )
    assert.notEqual(dimmed, 'rgba(0, 0, 0, 0)', 'the page below a dialog is dimmed')
    await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel 1 run' }).click()
    await row('Sleep long').getByText('Cancelled').waitFor()
    assert.equal((await api.get(waiting)).state, 'CANCELLED')
    const newer = await api.create({ title: 'Came later', prompt: shell('sleep 600'), config: RUNBOOK })
    await row('Came later').getByText('Running').waitFor()
    await api.call('POST', `/agent/runs/${newer}/cancel`)
    await row('Came later').getByText('Cancelled').waitFor()

    // By keyboard alone.
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    assert.match(
      (await page.evaluate('document.activeElement?.closest("[data-row]")?.textContent')) as string,
      /Came later/,
    )
    await page.keyboard.press('Enter')
    await page.waitForURL(new RegExp(newer))
    await page.keyboard.press('Control+k')
    await page.keyboard.type('break')
    await page.getByRole('option', { name: 'Break early' }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(new RegExp(failing))
    assert.deepEqual(complaints, [])
  })

  test('a service that is away is said and waited for; no event is missing or twice', async () => {
    const { port } = new URL(service.base_url)
    const proxy = await startFaultyProxy(Number(port))
    try {
      const through = { ...service, base_url: `http://127.0.0.1:${proxy.port}/api/v1` }
      const count = shell('for i in $(seq 300); do echo "line $i"; sleep 0.02; done')
      const run_id = await api.create({ prompt: count, config: RUNBOOK })
      await using opened = await openPage(through, { at: `/sessions/${run_id}` })
      const { page } = opened
      await page.getByText('line 1', { exact: false }).first().waitFor()
      await proxy.goAway()
      await page.getByRole('status').filter({ hasText: 'Reconnecting…' }).waitFor()
      await proxy.comeBack()
      await page.getByRole('status').filter({ hasText: 'Reconnecting…' }).waitFor({ state: 'detached' })
      await state(page, 'Succeeded')
      const output = await page.getByLabel('Output').locator('[data-stream=stdout]').allTextContents()
      const whole = Array.from({ length: 300 }, (_, index) => `line ${index + 1}\n`).join('')
      assert.equal(output.join(''), whole)
    } finally {
      await proxy.close()
    }
  })

  test('hostile text stays text', async () => {
    const link = `[${HOSTILE}](javascript:window.pwned=1) ![i](https://evil.example/x.png) <script>window.pwned=1</script>`
    const command = String.raw`printf '<script>window.pwned=1</script>\n\033]0;stolen\007\033[31mred\033[0m\n10%%\r99%%\n\342\200\256gnp.exe\n'; head -c 1000000 /dev/zero | tr '\0' x; echo; echo 'to the other' >&2`
    const run_id = await api.create({
      title: HOSTILE,
      prompt: `${link}\n${shell(command)}`,
      config: RUNBOOK,
    })
    await api.ended(run_id)
    await using opened = await openPage(service, { at: `/sessions/${run_id}` })
    const { page, complaints } = opened
    await page.locator('[data-block]', { hasText: 'exit 0' }).waitFor()
    assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), HOSTILE)
    const output = (await page.getByLabel('Output').textContent()) ?? ''
    assert.match(output, /x{1000}/)
    assert.match(output, /to the other/)
    for (const gone of ['\x1b', '\u202e', 'stolen']) assert(!output.includes(gone), JSON.stringify(gone))
    await page.getByRole('button', { name: 'Raw events' }).click()
    await page.getByText('tool.result').click()
    // At another of its addresses than the public one, which links are made of.
    const local = { ...service, base_url: service.base_url.replace('127.0.0.1', 'localhost') }
    await using elsewhere = await openPage(local, { at: `/sessions/${run_id}` })
    await elsewhere.page.getByRole('button', { name: 'Raw events' }).click()
    const saving = elsewhere.page.waitForEvent('download')
    await elsewhere.page.getByRole('button', { name: 'Save all as JSON Lines' }).click()
    const lines = readFileSync(await (await saving).path(), 'utf8')
      .trimEnd()
      .split('\n')
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)),
      await api.events(run_id),
    )
    assert.deepEqual(elsewhere.complaints, [])
    assert.equal(await page.locator('img, #page script, a[href^=javascript]').count(), 0)
    const deep = await api.create({ prompt: 'Speak deeply.' })
    await api.ended(deep)
    await moveTo(page, `/sessions/${deep}`)
    await state(page, 'Succeeded')
    await page.getByLabel('Last message').getByText(`deep ${HOSTILE}`).waitFor()
    // Set as a table it would be 64 million cells.
    const wide = await api.create({ prompt: 'Speak widely.' })
    await api.ended(wide)
    await moveTo(page, `/sessions/${wide}`)
    await state(page, 'Succeeded')
    await page.getByLabel('Last message').getByText('|a|a|a').first().waitFor()
    await moveTo(page, '/')
    await page.getByRole('listitem').filter({ hasText: HOSTILE }).waitFor()
    assert.equal(await page.evaluate('window.pwned'), undefined)
    assert.deepEqual(complaints, [])
  })

  test('a share link opens its run, to look at only, until it is revoked', async () => {
    const run_id = await api.create({ title: 'For guests', prompt: shell('echo shared'), config: RUNBOOK })
    await api.ended(run_id)
    await using owner = await openPage(service, { at: `/sessions/${run_id}` })
    await owner.page.getByRole('button', { name: 'Share' }).click()
    await owner.page.getByLabel('For whom').fill('the auditors')
    await owner.page.getByRole('button', { name: 'Make a link' }).click()
    await owner.page.getByText('not shown again').waitFor()
    await checkAccess(owner.page)
    const link = (await owner.page.getByText('#access=').textContent()) ?? ''
    const { pathname, hash } = new URL(link)

    await using guest = await openPage(service, { at: pathname + hash, is_signed_in: false })
    await guest.page.locator('[data-block=bash]', { hasText: 'shared' }).waitFor()
    assert.equal(new URL(guest.page.url()).hash, '', 'the token has left the address')
    for (const name of ['Follow up', 'Cancel', 'Retry', 'Fork', 'Share', 'New run']) {
      const found = guest.page.getByRole('textbox', { name }).or(guest.page.getByRole('button', { name }))
      assert.equal(await found.or(guest.page.getByRole('link', { name })).count(), 0, name)
    }
    await checkAccess(guest.page)
    await guest.page.goto(new URL(service.base_url).origin)
    await guest.page.getByLabel('API key').waitFor()

    // Who has a key of their own, by which the run is not to be seen, opens it all the same.
    const own = await api.create({
      title: 'Personal',
      prompt: shell('echo own'),
      team: false,
      config: RUNBOOK,
    })
    await api.ended(own)
    const { url } = await api.json<{ url: string }>('POST', `/agent/runs/${own}/share-links`, {})
    const { api_key } = await api.json<{ api_key: string }>('POST', '/api-keys', {
      name: 'Bo',
      new_user: true,
    })
    const as_other = { base_url: service.base_url, api_key }
    const there = new URL(url).pathname
    await using other = await openPage(as_other, { at: there })
    await other.page.getByRole('heading', { name: 'There is no such run' }).waitFor()
    await other.page.getByRole('link', { name: 'All runs' }).waitFor()
    await other.page.goto(new URL(service.base_url).origin)
    await other.page.goto(url)
    await other.page.locator('[data-block=bash]', { hasText: 'own' }).waitFor()
    assert.equal(await other.page.getByRole('button', { name: 'Share' }).count(), 0)
    await owner.page.getByRole('button', { name: 'Revoke' }).click()
    await owner.page.getByText('the auditors').waitFor({ state: 'detached' })
    await guest.page.goto(new URL(service.base_url).origin + pathname)
    await guest.page.getByRole('heading', { name: 'Open this run' }).waitFor()
    assert.deepEqual([...owner.complaints], [])
  })

  test('all of it works below a path of a proxy that does not pass that path on', async () => {
    await using proxy = await startPathProxy(Number(new URL(service.base_url).port), '/tools/runyard')
    const run_id = await api.create({ title: 'Below a path', prompt: shell('echo below'), config: RUNBOOK })
    await api.ended(run_id)
    const base_url = `${new URL(proxy.url).origin}/api/v1`
    const at = `/tools/runyard/sessions/${run_id}`
    await using opened = await openPage({ ...service, base_url }, { at, is_signed_in: false })
    const { page } = opened
    await page.getByLabel('API key').fill(service.api_key)
    await page.keyboard.press('Enter')
    await page.locator('[data-block=bash]', { hasText: 'below' }).waitFor()
    await page.getByRole('link', { name: 'New run' }).click()
    await page.waitForURL(`${proxy.url}/new`)
    await page.getByRole('link', { name: 'Runyard' }).click()
    await page.getByRole('listitem').filter({ hasText: 'Below a path' }).waitFor()
    await page.goto(`${proxy.url}/docs/errors`)
    await page.getByRole('link', { name: 'conflict' }).first().click()
    await page.getByRole('heading', { level: 1 }).waitFor()
    // To draw all operations takes seconds; that they arrive is shown by a few.
    await page.route('**/api/v1/openapi.json', async (route) => {
      const response = await route.fetch()
      const { paths, ...rest } = (await response.json()) as { paths: object }
      await route.fulfill({
        response,
        json: { ...rest, paths: Object.fromEntries(Object.entries(paths).slice(0, 5)) },
      })
    })
    await page.goto(`${proxy.url}/docs/api`)
    await page.locator('.opblock').first().waitFor()
    assert.deepEqual(proxy.missed, [])
  })

  test('a wrong key is refused kindly, a link works once, and signing out ends it', async () => {
    const origin = new URL(service.base_url).origin
    await using opened = await openPage(service, { at: '/?state=failed', is_signed_in: false })
    const { page } = opened
    await page.getByLabel('API key').fill('ry_wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').filter({ hasText: 'The key is not complete' }).waitFor()
    await checkAccess(page)
    await page.getByLabel('API key').fill(service.api_key)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Runs' }).waitFor()
    assert.equal(new URL(page.url()).search, '?state=failed')
    await page.getByRole('button', { name: 'Menu of dev' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByLabel('API key').waitFor()

    const { url } = await api.json<{ url: string }>('POST', '/agent/sign-in-links', {})
    await page.goto(url)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('heading', { name: 'Runs' }).waitFor()
    assert.equal(page.url(), `${origin}/`)
    await page.context().clearCookies()
    // A page that is open already would only change its fragment.
    await page.goto('about:blank')
    await page.goto(url)
    await page.getByRole('alert').filter({ hasText: 'used before' }).waitFor()
  })
})

/** Counts the calls of functions of the scripts at such addresses, until it is stopped. */
async function countCalls(page: Page, address: RegExp): Promise<{ stop: () => Promise<number> }> {
  const client = await page.context().newCDPSession(page)
  await client.send('Profiler.enable')
  await client.send('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  return {
    stop: async () => {
      const { result } = await client.send('Profiler.takePreciseCoverage')
      await client.detach()
      return result
        .filter(({ url }) => address.test(url))
        .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges))
        .reduce((sum, { count }) => sum + count, 0)
    },
  }
}
