/** The page of one run in Chromium: what is read, and what is done about it. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { findChromium } from './support/browser.ts'
import { git } from './support/git.ts'
import { type GitHost, serveGitHost } from './support/git-hosts.ts'
import { addHostedRepository } from './support/hosted-repositories.ts'
import { type ChatRequest, type ModelServer, openModelServer, type Reply } from './support/model-server.ts'
import { LONG, onlyLong } from './support/once.ts'
import { answerCalls } from './support/scripted-calls.ts'
import { apiOf, shell, startService, type TestService, temporaryDirectory } from './support/service.ts'
import { checkAccess, moveTo, openPage } from './support/web-page.ts'

const skip = findChromium() ? false : 'there is no Chromium on this machine'
const RUNBOOK = { harness: { type: 'runbook' } }
/** A picture of one pixel. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
const SAY = 'Say:\n'
const TOKEN = 'a-token-of-the-host'
const state = (page: Page, words: string) => page.locator('header [data-state]', { hasText: words }).waitFor()

describe('the page of a run', { skip }, () => {
  let service: TestService
  let api: ReturnType<typeof apiOf>
  let model: ModelServer
  let host: GitHost
  let repository: string

  const speak = (request: ChatRequest): Reply => {
    const prompt = String(request.messages.findLast(({ role }) => role === 'user')?.content)
    return prompt.startsWith(SAY) ? { text: prompt.slice(SAY.length) } : answerCalls(request)
  }
  before(async () => {
    model = await openModelServer(speak)
    const root = temporaryDirectory('hosted')
    repository = addHostedRepository(root, 'acme/site')
    host = await serveGitHost({ root, kind: 'github', token: TOKEN })
    service = await startService({
      env: {
        ...{ OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: model.url, RUNYARD_CREATES_PER_MINUTE: '0' },
        ...{ NODE_EXTRA_CA_CERTS: host.ca_file, RUNYARD_PRIVATE_HOSTS: host.host },
        RUNYARD_GIT_HOSTS: `${host.host}=github`,
        RUNYARD_GIT_TOKEN: `https://${TOKEN}@${host.host}`,
      },
    })
    api = apiOf(service)
  })
  after(async () => {
    await service?.stop()
    await model?.close()
    host?.close()
  })
  const openRun = (run_id: string, options: { width?: number; dark?: boolean } = {}) =>
    openPage(service, { at: `/sessions/${run_id}`, ...options })

  for (const [script, letter, count] of [
    ['Latin', 'A', 1_000_000],
    ['Arabic', 'م', 500_000],
  ] as const) {
    const register = script === 'Latin' ? test : onlyLong
    register(`a prompt of ${count} ${script} letters without a space does not hold the page up`, async () => {
      const prompt = `${shell('echo ok')}\n${letter.repeat(count)}`
      const run_id = await api.create({ title: 'Long', prompt, config: RUNBOOK })
      await api.ended(run_id)
      await using opened = await openRun(run_id, { width: 380 })
      const { page, complaints } = opened
      await state(page, 'Succeeded')
      const asked = page.locator('[data-entry=asked]')
      await asked.getByRole('button', { name: 'Show all of it' }).click()
      const text = (await asked.locator('.prose').textContent()) ?? ''
      assert(text.endsWith(letter.repeat(count)), 'nothing is added to the text, or left out')
      await page.getByRole('textbox', { name: 'Follow up' }).fill('It still answers.')
      assert.deepEqual(complaints, [])
    })
  }

  test('a question is set, once, with nothing to do but to answer it', async () => {
    const question = 'Which one: **staging** or `production`?\n\n| name | rows |\n|---|---|\n| staging | 4 |'
    const run_id = await api.create({
      title: 'Migrate',
      prompt: JSON.stringify([['ask_user', { question }]]),
    })
    await using opened = await openRun(run_id)
    const { page, complaints } = opened
    await state(page, 'Waiting for you')
    const asked = page.locator('[data-entry=end]')
    await asked.locator('strong', { hasText: 'staging' }).waitFor()
    await asked.getByRole('cell', { name: 'staging' }).waitFor()
    assert.equal(await page.locator('[data-block=ask_user]').count(), 0)
    assert.equal(await asked.getByRole('link', { name: 'Fork from here' }).count(), 0)
    await page.locator('header', { hasText: 'Which one' }).waitFor()
    await page.getByRole('button', { name: 'Answer' }).click()
    await page.keyboard.type('staging')
    await page.keyboard.press('Control+Enter')
    await state(page, 'Succeeded')
    // It stays readable above its answer.
    await asked.first().locator('strong', { hasText: 'staging' }).waitFor()
    assert.deepEqual(complaints, [])
  })

  test('answers that are offered are buttons, the keyboard is at the first, and the plan stays in sight', async () => {
    const steps = [
      { step: 'Read the schema', status: 'done' },
      { step: 'Migrate', status: 'in_progress' },
    ]
    const asked = { question: 'Which **database** first?', options: ['staging', 'production'] }
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', { name: 'databases' })
    const prompt = JSON.stringify([
      ['plan', { steps }],
      ['ask_user', asked],
    ])
    const run_id = await api.create({ title: 'Migrate', prompt, config: { environment_id: uid } })
    await using opened = await openRun(run_id)
    const { page, complaints } = opened
    await state(page, 'Waiting for you')
    const plan = page.getByRole('region', { name: 'Plan' })
    await plan.getByText('1 of 2').waitFor()
    await plan.getByText('Migrate').waitFor()
    await page.getByRole('list', { name: 'Answers' }).getByRole('button', { name: 'production' }).waitFor()
    await page.waitForFunction("document.activeElement?.textContent === 'staging'")
    assert.equal(await page.getByText('1. staging').count(), 0, 'each answer once')
    await page.getByRole('complementary').getByRole('link', { name: 'databases' }).waitFor()
    await checkAccess(page)
    await page.setViewportSize({ width: 380, height: 900 })
    await page.getByText('1 of 2', { exact: true }).filter({ visible: true }).waitFor()
    await checkAccess(page)
    await page.keyboard.press('Enter')
    await state(page, 'Succeeded')
    await page.locator('[data-entry=asked]', { hasText: 'staging' }).last().waitFor()
    assert.deepEqual(complaints, [])
  })

  test('the header says which run it is and why it is as it is when that is out of sight, in one row', async () => {
    const prompt = `${shell('seq 400')}\n\n${shell('exit 3')}\n${'A line of it.\n\n'.repeat(20)}`
    const run_id = await api.create({ title: 'Count up and break', prompt, config: RUNBOOK })
    await api.ended(run_id)
    for (const width of [1280, 380]) {
      await using opened = await openRun(run_id, { width })
      const { page, complaints } = opened
      const header = page.locator('main header')
      await state(page, 'Failed')
      assert.doesNotMatch((await header.textContent()) ?? '', /Count up/)
      const height = (await header.boundingBox())?.height ?? 0
      // Before there is a conversation the page is too short to be scrolled.
      await page.getByText('A line of it.').first().waitFor()
      await page.mouse.wheel(0, 800)
      await header.getByText('Count up and break').waitFor()
      assert.equal((await header.boundingBox())?.height, height, 'nothing moves')
      assert(height < 64, `one row, ${height} px`)
      assert.match((await header.textContent()) ?? '', /Step 2 .* ended with exit code 3/)
      if (width === 380) {
        await checkAccess(page)
        await page.getByRole('button', { name: 'More to do with this run' }).click()
        await page.getByRole('menuitem', { name: 'Fork' }).waitFor()
        await page.getByRole('menuitem', { name: 'Share' }).click()
        await page.getByRole('heading', { name: 'Share this run' }).waitFor()
        await page.getByRole('button', { name: 'Close' }).click()
        await page.getByRole('button', { name: 'More to do with this run' }).click()
        await page.getByRole('menuitem', { name: 'Retry' }).click()
        await page.waitForURL(/\/new\?replay=/)
      } else {
        await header.getByRole('button', { name: 'Follow up' }).click()
        assert.equal(await page.evaluate('document.activeElement?.id'), 'composer')
      }
      assert.deepEqual(complaints, [])
    }
  })

  test('what a message does is said on a narrow screen too, and it does not compete with a call to allow', async () => {
    const run_id = await api.create({
      prompt: '[["bash", {"command": "echo allowed"}]]',
      config: { permissions: [{ tool: 'bash', action: 'ask' }] },
    })
    await using opened = await openRun(run_id, { width: 380 })
    const { page } = opened
    await page.getByRole('button', { name: 'Allow once' }).waitFor()
    await page.getByText('The call is not made').waitFor()
    assert.equal(await page.getByRole('textbox', { name: 'Answer the agent' }).count(), 0)
    await page.getByRole('textbox', { name: 'Or send it something else' }).fill('Leave it.')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await state(page, 'Succeeded')
    assert(!(await page.getByRole('log').textContent())?.includes('exit 0'), 'it was not called')
  })

  test('task lists and tables of an agent are named, and none is a form', async () => {
    const table = '| a | b |\n|---|---|\n| 1 | 2 |'
    const run_id = await api.create({
      prompt: `${SAY}- [x] tests\n- [ ] changelog\n\n${table}\n\nAnd\n\n${table}`,
    })
    await api.ended(run_id)
    // Light is what all other pages are looked at in.
    for (const dark of LONG ? [false, true] : [true]) {
      await using opened = await openRun(run_id, { dark })
      const said = opened.page.getByLabel('Last message')
      await said
        .getByRole('listitem')
        .filter({ hasText: 'tests' })
        .getByRole('img', { name: 'done' })
        .waitFor()
      await said
        .getByRole('listitem')
        .filter({ hasText: 'changelog' })
        .getByRole('img', { name: 'open' })
        .waitFor()
      assert.equal(await said.getByRole('table').count(), 2)
      await checkAccess(opened.page)
    }
  })

  test('a failed setup is one sentence, with the end of its output below it, both once', async () => {
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
      ...{ name: 'broken', setup_commands: ['seq 3000; echo "npm error **code** ERES""OLVE" >&2; exit 1'] },
    })
    const run_id = await api.create({
      prompt: shell('echo never'),
      config: { ...RUNBOOK, environment_id: uid },
    })
    await api.ended(run_id)
    await using opened = await openRun(run_id)
    const { page, complaints } = opened
    await state(page, 'Failed')
    const result = page.getByRole('region', { name: 'Result' })
    await result
      .getByText(/The setup command .* ended with exit code 1: npm error \*\*code\*\* ERESOLVE\.$/)
      .waitFor()
    const output = page.locator('pre', { hasText: 'ERESOLVE' })
    await output.filter({ visible: true }).waitFor()
    assert.equal(
      await output.filter({ visible: true }).textContent(),
      '2997\n2998\n2999\n3000\nnpm error **code** ERESOLVE',
    )
    assert.equal(await page.locator('[data-entry=end] pre', { hasText: 'ERESOLVE' }).count(), 1)
    await checkAccess(page)
    assert.deepEqual(complaints, [])
  })

  test('its pull request is merged where one reads what it changes, as it stands', async () => {
    const environment = {
      ...{ name: 'site', repositories: [{ url: `${host.url}/acme/site` }] },
      ...{ on_success: 'pull_request', merge_method: 'squash' },
    }
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', environment)
    const config = { ...RUNBOOK, environment_id: uid }
    const run_id = await api.create({ title: 'Add it', prompt: shell('echo it > it'), config })
    await api.ended(run_id, 60)
    const [pull] = host.pulls
    assert(pull)
    pull.standing = 'dirty'
    {
      await using opened = await openRun(run_id)
      const pulls = opened.page.getByRole('list', { name: 'Pull requests' })
      await pulls.getByText('It has conflicts with main.').waitFor()
      assert.equal(await pulls.getByRole('button', { name: 'Merge' }).isDisabled(), true)
    }
    // What was found out is used for a while, but not behind somebody who wanted it merged.
    const refused = await api.call('POST', `/agent/runs/${run_id}/merge`, {})
    assert.equal(refused.status, 409)
    delete pull.standing
    await using opened = await openRun(run_id, { width: 380 })
    const { page, complaints } = opened
    const pulls = page.getByRole('list', { name: 'Pull requests' })
    await pulls.getByText('Open into main').waitFor()
    await pulls.getByRole('button', { name: 'Merge' }).click()
    await page
      .getByText(/becomes one commit on main\. The branch stays, unless its host deletes what is merged\./)
      .waitFor()
    await checkAccess(page)
    const seen = git(repository, 'rev-parse', pull.head)
    const merging = page.waitForRequest((request) => request.url().endsWith(`/${run_id}/merge`))
    await page.getByRole('button', { name: 'Merge it' }).click()
    assert.equal((await merging).postDataJSON().commit, seen, 'commits that nobody saw are not merged')
    await pulls.getByText('Merged into main').waitFor()
    assert.equal(await pulls.getByRole('button', { name: 'Merge' }).count(), 0)
    assert.equal(git(repository, 'show', 'main:it'), 'it')
    await checkAccess(page)
    assert.deepEqual(complaints, [])
  })

  test('what needs somebody stands above the other runs, until it is done', async () => {
    const environment = {
      name: 'site-2',
      repositories: [{ url: `${host.url}/acme/site` }],
      on_success: 'pull_request',
    }
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', environment)
    const prompt = shell('seq 3 > three')
    const opened_pull = await api.create({
      title: 'Count to three',
      prompt,
      config: { ...RUNBOOK, environment_id: uid },
    })
    const asks = await api.create({
      title: 'Which one',
      prompt: JSON.stringify([['ask_user', { question: 'A or B?' }]]),
    })
    await api.ended(opened_pull, 60)
    // Merged at its host, where nobody tells this service.
    const merged_there = { title: 'Count to four', prompt: shell('seq 4 > four') }
    await api.ended(await api.create({ ...merged_there, config: { ...RUNBOOK, environment_id: uid } }), 60)
    const pull = host.pulls.find(({ title }) => title === merged_there.title)
    assert(pull)
    Object.assign(pull, { open: false, merged_at: new Date().toISOString() })
    await using opened = await openPage(service)
    const { page, complaints } = opened
    const row = (title: string) => page.getByRole('listitem').filter({ hasText: title })
    await row('Which one').getByText('Answer:').waitFor()
    await row('Count to four')
      .getByTitle(/^Pull request #\d+: merged$/)
      .waitFor()
    await row('Which one').getByText('A or B?').waitFor()
    await row('Count to three').getByText('+3 −0').waitFor()
    await row('Count to three').getByText('Merge').waitFor()
    await row('Count to three')
      .getByTitle(/^Pull request #\d+: open$/)
      .waitFor()
    assert.equal(await page.getByRole('listitem').filter({ hasText: 'Needs you' }).count(), 1)
    await checkAccess(page)
    await page.getByLabel('State', { exact: true }).selectOption('Needs you')
    await page.getByRole('link', { name: 'Mine' }).click()
    await page.waitForURL(/state=attention/)
    await page.waitForURL(/creator=me/)
    await page.getByRole('button', { name: 'Save these filters' }).click()
    await page.keyboard.type('My turn')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Remove the saved filter My turn' }).waitFor()
    await checkAccess(page)
    await moveTo(page, '/')
    await page.getByRole('link', { name: 'My turn' }).click()
    await page.waitForURL(/creator=me/)
    await row('Which one').waitFor()
    await api.call('POST', `/agent/runs/${asks}/cancel`)
    await row('Which one').waitFor({ state: 'detached' })
    await row('Count to three').waitFor()
    assert.deepEqual(complaints, [])
  })

  test('the runs it started are listed with their states, and linked where they were started', async () => {
    const child = { title: 'Look at the tests', prompt: '[["bash", {"command": "sleep 600"}]]' }
    const parent = await api.create({ title: 'Split it up', prompt: JSON.stringify([['spawn_run', child]]) })
    await using opened = await openRun(parent)
    const { page, complaints } = opened
    await state(page, 'Succeeded')
    const started = page.getByRole('region', { name: 'Runs it started' })
    const row = started.getByRole('listitem').filter({ hasText: 'Look at the tests' })
    await row.getByText('Running').waitFor()
    await checkAccess(page)
    const href = await row.getByRole('link').getAttribute('href')
    assert.equal(await page.locator('[data-block=spawn_run]').getByRole('link').getAttribute('href'), href)
    const child_id = String(href).split('/').at(-1)
    await api.call('POST', `/agent/runs/${child_id}/cancel`)
    await row.getByText('Cancelled').waitFor()
    await row.getByRole('link').click()
    await page.getByRole('heading', { name: 'Look at the tests', level: 1 }).waitFor()
    await page.getByText('Child of').locator('..').getByRole('link').click()
    await page.getByRole('heading', { name: 'Split it up', level: 1 }).waitFor()
    assert.deepEqual(complaints, [])
  })

  test('a run is renamed, put away and deleted by its menu; others are by the list', async () => {
    const run_id = await api.create({ title: 'To go', prompt: shell('true'), config: RUNBOOK })
    await api.ended(run_id)
    await using opened = await openRun(run_id)
    const { page, complaints } = opened
    const choose = async (name: string) => {
      await page.getByRole('button', { name: 'More to do with this run' }).click()
      await page.getByRole('menuitem', { name }).click()
    }
    await state(page, 'Succeeded')
    await choose('Rename')
    await page.getByLabel('Title').fill('To go soon')
    await checkAccess(page)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'To go soon', level: 1 }).waitFor()
    await choose('Archive')
    await page.locator('header').getByText('Archived').waitFor()
    await checkAccess(page)
    assert((await api.get(run_id)).archived_at)
    await moveTo(page, '/?archived=true')
    const row = (title: string) => page.getByRole('listitem').filter({ hasText: title })
    await row('To go soon').getByText('Archived').waitFor()
    assert.equal(await page.getByLabel('Archive', { exact: true }).inputValue(), 'true')
    await row('To go soon').getByRole('link').click()
    await choose('Delete')
    await checkAccess(page)
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete the run' }).click()
    await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor()
    assert.equal((await api.call('GET', `/agent/runs/${run_id}`)).status, 404)

    const ended = await api.create({ title: 'One of two', prompt: shell('true'), config: RUNBOOK })
    await api.ended(ended)
    const working = await api.create({ title: 'The other one', prompt: shell('sleep 600'), config: RUNBOOK })
    await row('The other one').getByText('Running').waitFor()
    await row('One of two').getByRole('checkbox').check()
    await row('The other one').getByRole('checkbox').check()
    await page.getByRole('button', { name: 'Archive 1 run' }).waitFor()
    await page.getByRole('button', { name: 'Cancel 1 run' }).waitFor()
    await page.getByRole('button', { name: 'Delete 2 runs' }).click()
    await page.getByRole('alertdialog').getByText('1 run that has not ended is cancelled first.').waitFor()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete 2 runs' }).click()
    await row('The other one').waitFor({ state: 'detached' })
    for (const gone of [ended, working])
      assert.equal((await api.call('GET', `/agent/runs/${gone}`)).status, 404)
    assert.deepEqual(complaints, [])
  })

  test('calls show what they are for: the lines of an edit, the steps of a plan, an output once', async () => {
    const edit = { path: 'cart.js', old_text: 'one\ntwo\nthree', new_text: 'one\n2\nthree\nfour' }
    const calls = [
      ['write', { path: 'cart.js', content: 'one\ntwo\nthree\n' }],
      ['edit', edit],
      [
        'plan',
        {
          steps: [
            { step: 'Run the tests', status: 'done' },
            { step: 'Fix the sum', status: 'in_progress' },
          ],
        },
      ],
      ['bash', { command: 'echo out; echo err >&2; exit 3' }],
      // Few lines: axe measures each of them.
      ['bash', { command: "seq -s ' ' 10000" }],
    ]
    const run_id = await api.create({ title: 'Calls', prompt: JSON.stringify(calls) })
    await api.ended(run_id)
    await using opened = await openRun(run_id)
    const { page, complaints } = opened
    const block = (name: string) => page.locator(`[data-block=${name}]`)
    await block('write').getByText('+3').waitFor()
    await block('edit').getByText('+2').waitFor()
    await block('edit').getByText('−1').waitFor()
    assert.deepEqual(await block('edit').locator('[data-line=added]').allTextContents(), ['+ 2', '+ four'])
    assert.deepEqual(await block('edit').locator('[data-line=removed]').allTextContents(), ['− two'])
    await block('plan')
      .getByRole('listitem')
      .filter({ hasText: 'Fix the sum' })
      .getByRole('img', { name: 'in progress' })
      .waitFor()
    assert(!(await block('plan').textContent())?.includes('{'), 'no JSON')
    const told = (command: string) =>
      block('bash').filter({ hasText: command }).getByText('What the agent was told')
    assert.equal(await told('exit 3').count(), 0)
    // It got the ends of what was printed only.
    await told('seq -s').waitFor()
    await checkAccess(page)
    assert.deepEqual(complaints, [])
  })

  test('what a run has kept is looked at in the page', async () => {
    const command = `mkdir -p artifacts; echo ${PIXEL} | base64 -d > dot.png; printf '# Notes\\n\\n**bold** <b>text</b>\\n' > notes.md; head -c 9 /dev/zero > a.bin; (echo ${PIXEL} | base64 -d; head -c 12000000 /dev/zero) > artifacts/big.png`
    const calls = [
      ['bash', { command }],
      ...['dot.png', 'notes.md', 'a.bin'].map((path) => ['attach_artifact', { path }]),
    ]
    const run_id = await api.create({ title: 'Keep files', prompt: JSON.stringify(calls) })
    await api.ended(run_id)
    await using opened = await openRun(run_id, { width: 380 })
    const { page, complaints } = opened
    const artifacts = page.getByRole('region', { name: 'Artifacts' })
    await artifacts.getByRole('button', { name: 'Preview dot.png' }).click()
    await artifacts.getByRole('img', { name: 'dot.png' }).waitFor()
    await page.waitForFunction("document.querySelector('[data-preview=picture] img').naturalWidth === 1")
    await artifacts.getByRole('button', { name: 'Preview notes.md' }).click()
    await artifacts.locator('[data-preview=markdown] strong', { hasText: 'bold' }).waitFor()
    assert.equal(await artifacts.locator('[data-preview=markdown] b').count(), 0, 'HTML stays text')
    assert.equal(await artifacts.getByRole('button', { name: 'Preview a.bin' }).count(), 0)
    // What a picture of the run weighs is asked for before it is read.
    await artifacts.getByRole('button', { name: 'Preview Screenshot' }).click()
    await artifacts.getByText(/^This file has 12\.0 MB; up to .* Download it instead\.$/).waitFor()
    await artifacts.getByRole('button', { name: 'Hide Screenshot' }).click()
    await checkAccess(page)
    await artifacts.getByRole('button', { name: 'Hide notes.md' }).click()
    assert.equal(await artifacts.locator('[data-preview]').count(), 1)
    assert.deepEqual(complaints, [])
  })

  test('comments on lines outlive the next turn, and say what sending them does', async () => {
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
      ...{ name: 'commented', repositories: [{ url: `${host.url}/acme/site` }] },
    })
    const write = (content: string) => ['write', { path: 'cart.txt', content }]
    const config = { environment_id: uid, permissions: [{ tool: 'bash', action: 'ask' }] }
    const run_id = await api.create({ prompt: JSON.stringify([write('one\ntwo\n')]), config })
    await api.ended(run_id, 60)
    await using opened = await openRun(run_id)
    const { page, complaints } = opened
    await page.getByRole('button', { name: 'Comment on line 1' }).click()
    await page.keyboard.type('In Spanish.')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('button', { name: 'Comment on line 2' }).click()
    await page.keyboard.type('And th')
    const comments = page.getByRole('region', { name: 'Your comments' })
    await comments.getByText('1 comment, not sent yet, and 1 draft.').waitFor()

    // Typing continues while the next turn's patch is on its way, and after it has arrived.
    const { promise: is_held, resolve: release } = Promise.withResolvers<void>()
    const asked = page.waitForRequest(/\/downloads\/artifacts\//)
    await page.route(/\/downloads\/artifacts\//, (route) => is_held.then(() => route.continue()))
    const message = JSON.stringify([write('uno\ntwo\n'), ['bash', { command: 'echo allowed' }]])
    await api.call('POST', `/agent/runs/${run_id}/followups`, { message })
    await asked
    await page.keyboard.type('is')
    release()
    await comments.getByText('These lines changed').waitFor()
    await page.keyboard.type(' one.')
    const draft = page.getByRole('textbox', { name: 'Comment on line 2 of cart.txt' })
    assert.equal(await draft.inputValue(), 'And this one.')
    await comments.getByText('In Spanish.').waitFor()

    // What a message does now is said where comments are sent, too.
    await page.getByRole('button', { name: 'Allow once' }).waitFor()
    await comments.getByText('The call is not made').waitFor()
    await checkAccess(page)
    for (const width of [380, 1280]) {
      await page.setViewportSize({ width, height: 900 })
      await comments.getByText('The call is not made').filter({ visible: true }).waitFor()
    }

    // Another person who signs in in this tab, after the session has expired, sees none of them.
    const other = await api.json<{ api_key: string }>('POST', '/api-keys', { name: 'Bea', new_user: true })
    for (const { api_key } of [other, service]) {
      await page.context().clearCookies()
      await page.evaluate('void __TANSTACK_QUERY_CLIENT__.resetQueries()')
      await page.getByLabel('API key').fill(api_key)
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Comment on line 1', exact: true }).waitFor()
      assert.equal(await comments.count(), api_key === other.api_key ? 0 : 1)
    }
    // The browser writes down what was refused without a session.
    assert.deepEqual(
      complaints.splice(0).filter((complaint) => !complaint.includes('401')),
      [],
    )

    await comments.getByRole('button', { name: 'Discard' }).click()
    await page.getByRole('alertdialog').getByText('2 comments will be deleted.').waitFor()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Discard' }).click()
    await comments.waitFor({ state: 'detached' })
    await api.call('POST', `/agent/runs/${run_id}/cancel`)
    await state(page, 'Cancelled')
    assert.deepEqual(complaints, [])
  })

  test('a PDF is shown page by page, as pictures: what it would execute does nothing', async () => {
    const files = {
      'plan.pdf': writePdf('Hello PDF'),
      'scan.pdf': writePdf('Scanned', 'JBIG2Decode'),
      'broken.pdf': '%PDF-1.7 but nothing more',
    }
    const commands = Object.entries(files).map(
      ([name, text]) => `echo ${Buffer.from(text, 'latin1').toString('base64')} | base64 -d > ${name}`,
    )
    const calls = [
      ['bash', { command: commands.join('; ') }],
      ...Object.keys(files).map((path) => ['attach_artifact', { path }]),
    ]
    const run_id = await api.create({ title: 'Write a PDF', prompt: JSON.stringify(calls) })
    await api.ended(run_id)
    await using opened = await openRun(run_id, { width: 380 })
    const { page, complaints } = opened
    const artifacts = page.getByRole('region', { name: 'Artifacts' })
    await artifacts.getByRole('button', { name: 'Preview plan.pdf' }).click()
    await artifacts.getByRole('img', { name: 'Page 1 of plan.pdf' }).waitFor()
    await artifacts.locator('[data-page="1"]', { hasText: 'Hello PDF' }).waitFor()
    const dark = await page.evaluate(`(() => {
      const canvas = document.querySelector('canvas')
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
      return data.filter((value, index) => index % 4 === 0 && value < 128).length
    })()`)
    assert(Number(dark) > 100, 'its text is drawn')
    await checkAccess(page)
    await artifacts.getByRole('button', { name: 'Hide plan.pdf' }).click()
    await artifacts.getByRole('button', { name: 'Preview scan.pdf' }).click()
    await artifacts.getByText('Page 1 could not be drawn completely.').waitFor()
    await checkAccess(page)
    await artifacts.getByRole('button', { name: 'Hide scan.pdf' }).click()
    await artifacts.getByRole('button', { name: 'Preview broken.pdf' }).click()
    await artifacts.getByText(/^This PDF cannot be shown here: .*Download it instead\.$/).waitFor()
    assert.deepEqual(complaints, [])
  })

  test('an address brings prompt and repository of a new run, and the next one begins where that was', async () => {
    const url = `${host.url}/acme/site`
    await api.json('POST', '/agent/environments', { name: 'by-name', repositories: [{ url }] })
    const search = new URLSearchParams({ prompt: shell('true'), repo: `${url}#main` })
    await using opened = await openPage(service, { at: `/new?${search}` })
    const { page, complaints } = opened
    const fieldOf = (label: string) => page.getByLabel(label, { exact: true }).inputValue()
    assert.equal(await fieldOf('Prompt'), shell('true'))
    await page.getByLabel('Agent', { exact: true }).selectOption('runbook')
    await page.getByText('"ref": "main"').waitFor()
    await checkAccess(page)
    await page.getByRole('button', { name: 'Start the run' }).click()
    await page.waitForURL(/\/sessions\//)
    const { agent_config } = await api.get(page.url().split('/').at(-1) ?? '')
    assert.deepEqual(agent_config.repositories, [{ url, ref: 'main' }])
    await moveTo(page, '/new')
    await page.getByRole('heading', { name: 'New run' }).waitFor()
    assert.deepEqual(await Promise.all(['Repository', 'Branch', 'Agent', 'Prompt'].map(fieldOf)), [
      url,
      'main',
      'runbook',
      '',
    ])
    await moveTo(page, '/new?environment=by-name')
    await page.getByText(url, { exact: true }).waitFor()
    assert.equal(await page.getByLabel('Repository', { exact: true }).count(), 0)
    assert.deepEqual(complaints, [])
  })

  test('who wants it is told by the browser what needs them, once', async () => {
    await using opened = await openPage(service)
    const { page, complaints } = opened
    // Without a screen the browser shows none: what it is given is kept, by a tab that nobody looks at.
    await page.evaluate(`{
      window.shown = []
      window.ownNotification = Notification
      window.Notification = class {
        static permission = 'granted'
        static requestPermission = async () => 'granted'
        constructor(title) { window.shown.push(title) }
      }
      Object.defineProperty(document, 'hidden', { value: true, configurable: true })
    }`)
    const toggle = async () => {
      await page.getByRole('button', { name: /^Menu of/ }).click()
      await page.getByRole('menuitemcheckbox', { name: 'Notify me when a run needs me' }).click()
    }
    const first = page.waitForResponse(/needs_attention=true.*creator=me|creator=me.*needs_attention=true/)
    await toggle()
    await first
    const asks = JSON.stringify([['ask_user', { question: 'Now?' }]])
    const run_id = await api.create({ title: 'Tell me', prompt: asks })
    await api.until(run_id, (run) => run.state === 'BLOCKED')
    const readAgain =
      "__TANSTACK_QUERY_CLIENT__.refetchQueries({ queryKey: ['runs', 'attention', 'notices'] }).then(() => undefined)"
    for (const _ of [1, 2]) await page.evaluate(readAgain)
    await page.waitForFunction("window.shown.includes('Answer: Tell me')")
    assert.equal(await page.evaluate("window.shown.filter((title) => title === 'Answer: Tell me').length"), 1)
    await toggle()
    await page.evaluate('{ window.Notification = window.ownNotification; delete document.hidden }')
    await api.call('POST', `/agent/runs/${run_id}/cancel`)
    assert.deepEqual(complaints, [])
  })

  test('a call that waits to be allowed has nothing to open', async () => {
    const run_id = await api.create({
      prompt: '[["bash", {"command": "echo waits"}]]',
      config: { permissions: [{ tool: 'bash', action: 'ask' }] },
    })
    await using opened = await openRun(run_id)
    await opened.page.locator('div[data-block=bash]', { hasText: 'not begun' }).waitFor()
    await opened.page.getByRole('button', { name: 'Allow once' }).waitFor()
    await opened.page.keyboard.press('a')
    await opened.page.locator('details[data-block=bash]', { hasText: 'exit 0' }).waitFor()
  })
})

/**
 * One page with a line of text, which would open a dialog if what is in it were executed. With the name of a filter it has a
 * picture as well, which that filter cannot decode.
 */
function writePdf(text: string, filter?: string): string {
  const picture = filter ? ' q 50 0 0 50 0 0 cm /Im Do Q' : ''
  const content = `BT /F1 36 Tf 40 120 Td (${text}) Tj ET${picture}`
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /JavaScript /JS (app.alert("executed")) >> >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 200] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> /XObject << /Im 6 0 R >> >> >>',
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ...(filter
      ? [
          `<< /Type /XObject /Subtype /Image /Width 8 /Height 8 /BitsPerComponent 1 /ColorSpace /DeviceGray /Filter /${filter} /Length 4 >>\nstream\nscan\nendstream`,
        ]
      : []),
  ]
  let pdf = '%PDF-1.7\n'
  const places = objects.map((object, index) => {
    const place = pdf.length
    pdf += `${index + 1} 0 obj\n${object}\nendobj\n`
    return place
  })
  const rows = places.map((place) => `${String(place).padStart(10, '0')} 00000 n \n`).join('')
  const size = objects.length + 1
  return `${pdf}xref\n0 ${size}\n0000000000 65535 f \n${rows}trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${pdf.length}\n%%EOF\n`
}
