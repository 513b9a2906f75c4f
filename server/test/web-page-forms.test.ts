/** The forms of what starts runs, in Chromium: all that a request takes, and who may ask for it. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import type { RunItem } from '../src/contract/run.ts'
import type { ScheduledAgentItem } from '../src/contract/schedule.ts'
import type { Trigger } from '../src/contract/trigger.ts'
import { findChromium } from './support/browser.ts'
import { LONG } from './support/once.ts'
import { apiOf, BINARY, shell, startService, type TestService } from './support/service.ts'
import { checkAccess, moveTo, openPage } from './support/web-page.ts'

const skip = findChromium() ? false : 'there is no Chromium on this machine'
const RUNBOOK = { harness: { type: 'runbook' } }
/** Of no worker, so that what is asked for is only kept. */
const NOBODY = 'nobody'

describe('the forms of what starts runs', { skip }, () => {
  let service: TestService
  let api: ReturnType<typeof apiOf>
  let identity: { uid: string }
  let guest: { base_url: string; api_key: string; uid: string }

  before(async () => {
    service = await startService({ env: { RUNYARD_CREATES_PER_MINUTE: '0' } })
    api = apiOf(service)
    await api.json('POST', '/agent/environments', { name: 'site' })
    identity = await api.json('POST', '/agent/identities', { name: 'reviewer', environment_id: 'site' })
    const body = { name: 'guest', role: 'member', new_user: true }
    const made = await api.json<{ api_key: string; principal: { uid: string } }>('POST', '/api-keys', body)
    guest = { base_url: service.base_url, api_key: made.api_key, uid: made.principal.uid }
  })
  after(async () => {
    await service?.stop()
  })

  const more = (page: Page) => page.locator('summary', { hasText: 'More' })
  const idOf = (page: Page) => new URL(page.url()).pathname.split('/').at(-1) ?? ''
  const newest = async () => (await api.json<{ runs: RunItem[] }>('GET', '/agent/runs?limit=1')).runs[0]

  /** Runs a sample as somebody does who has copied it, but does not stay to watch. */
  async function runCommand(sample: string): Promise<void> {
    const script = `runyard() { "$NODE" "$BIN" "$@" --detach; }\n${sample}`
    const { PATH = '' } = process.env
    const env = { PATH, NODE: process.execPath, BIN: BINARY, RUNYARD_API_KEY: service.api_key }
    await promisify(execFile)('bash', ['-euc', script], {
      env: { ...env, RUNYARD_BASE_URL: new URL(service.base_url).origin },
    })
  }

  test('a run is given all that a request takes, and the command beside the form gives the same', async () => {
    await using opened = await openPage(service, { at: '/new' })
    const { page, complaints } = opened
    await page.getByRole('textbox', { name: 'Prompt' }).fill('Look at "it", please.')
    await more(page).click()
    await page.getByLabel('Run as').selectOption('reviewer')
    // What the identity has takes the place of the defaults.
    await page.getByLabel('Environment').locator('option', { hasText: 'as reviewer has it' }).waitFor({
      state: 'attached',
    })
    assert.equal(await page.getByLabel('Personal').isDisabled(), true)
    const texts = {
      'Worker pool': NOBODY,
      'At most, US dollars': '1.5',
      'At most, tokens': '20000',
      'At most, minutes of work': '30',
      Priority: '-7',
      'Keep sandbox, minutes': '5',
      Instructions: 'Be brief.\nBe kind.',
      Permissions: 'forbid:bash',
      'Tool servers (MCP)': '{"db": {"url": "https://db.example/"',
      Result: '{"type": "object"}',
      Title: 'All of it',
      Label: 'review',
      Metadata: 'ticket=42\nnote=two words',
    }
    for (const [label, text] of Object.entries(texts))
      await page.getByLabel(label, { exact: true }).fill(text)
    await page.getByLabel('Reasoning').selectOption('high')
    await page.getByLabel('opens the page of a run without a key').check()
    const start = page.getByRole('button', { name: 'Start the run' })
    await page.getByText('Each line is ACTION:TOOL').waitFor()
    assert.equal(await start.isDisabled(), true)
    await checkAccess(page)
    await page.getByLabel('Permissions').fill('ask:bash:git push*\ndeny:edit')
    await page.getByText('This is no JSON: ').waitFor()
    assert.equal(await start.isDisabled(), true)
    await page.getByLabel('Tool servers').fill('{"mcpServers": {"db": {"url": "https://db.example/"}}}')
    await page.getByRole('tab', { name: 'Command' }).click()
    const command = (await page.getByRole('tabpanel').locator('pre').textContent()) ?? ''
    await start.click()
    await page.locator('header [data-state]', { hasText: 'Queued' }).waitFor()
    const asked = (run: RunItem | undefined) => {
      assert(run)
      const { title, prompt, executor, agent_config, metadata, scope } = run
      return { title, prompt, executor: executor.uid, agent_config, metadata, scope: scope.type }
    }
    const made = asked(await api.json<RunItem>('GET', `/agent/runs/${idOf(page)}`))
    const { environment_id, ...config } = made.agent_config
    assert.equal(typeof environment_id, 'string')
    assert.deepEqual(
      { ...made, agent_config: config },
      {
        ...{ title: 'All of it', prompt: 'Look at "it", please.', executor: identity.uid, scope: 'Team' },
        agent_config: {
          ...{ name: 'review', base_prompt: 'Be brief.\nBe kind.', idle_timeout_minutes: 5 },
          ...{ worker_host: NOBODY, harness: { reasoning_level: 'high' } },
          permissions: [
            { tool: 'bash', pattern: 'git push*', action: 'ask' },
            { tool: 'edit', action: 'deny' },
          ],
          mcp_servers: { db: { url: 'https://db.example/' } },
          session_sharing: { public_access: 'VIEWER' },
        },
        metadata: { ticket: '42', note: 'two words' },
      },
    )
    const first = idOf(page)
    await runCommand(command)
    const again = await newest()
    assert.notEqual(again?.run_id, first)
    assert.deepEqual(asked(again), made)
    assert.deepEqual(complaints, [])
  })

  test('a run with changes sends what was changed, and a personal one is its owner’s', async () => {
    const config = { ...RUNBOOK, worker_host: NOBODY, session_sharing: { public_access: 'VIEWER' } }
    const asked = { prompt: shell('true'), title: 'Before', config, metadata: { ticket: '1' } }
    const replay = await api.create(asked)
    await using opened = await openPage(service, { at: `/new?replay=${replay}` })
    const { page, complaints } = opened
    // What was said before is shown, and what is left out is taken over.
    assert.equal(await page.getByLabel('Environment').locator('option').first().textContent(), 'As it was')
    assert.equal(await page.getByLabel('Metadata').inputValue(), 'ticket=1')
    await page.getByLabel('opens the page of a run without a key').uncheck()
    await page.getByLabel('Personal: only you see it').check()
    assert.equal(await page.getByLabel('Run as').isDisabled(), true)
    const sample = await page.getByRole('tabpanel').locator('pre').textContent()
    assert.deepEqual(JSON.parse(/-d '([\s\S]*)'$/.exec(sample ?? '')?.[1] ?? ''), {
      replay_of_run_id: replay,
      team: false,
      config: { session_sharing: { public_access: 'NONE' } },
    })
    await page.getByRole('tab', { name: 'Command' }).click()
    const command = (await page.getByRole('tabpanel').locator('pre').textContent()) ?? ''
    await page.getByRole('button', { name: 'Start the run' }).click()
    await page.locator('header [data-state]', { hasText: 'Queued' }).waitFor()
    const made = [await api.get(idOf(page))]
    // That what the command sends is what the form sends, the test above shows of all fields.
    if (LONG) {
      await runCommand(command)
      const again = await newest()
      assert(again && again.run_id !== made[0]?.run_id)
      made.push(again)
    } else assert.match(command, /--no-public/)
    for (const run of made) {
      assert.deepEqual([run.scope.type, run.metadata], ['User', { ticket: '1' }])
      assert.equal(run.agent_config.session_sharing?.public_access, 'NONE')
    }
    assert.deepEqual(complaints, [])
  })

  test('who may use an identity is led to a run as it; others are not offered it', async () => {
    const at = `/keys/identities/${identity.uid}`
    await apiOf(guest).json('POST', '/agent/identities', { name: 'mine' })
    await using opened = await openPage(guest, { at })
    const { page, complaints } = opened
    await page.getByRole('link', { name: 'Runs it created' }).waitFor()
    await moveTo(page, '/new')
    await more(page).click()
    const choices = page.getByLabel('Run as').locator('option')
    // Its own is there by the time that it is known which others it may use.
    await choices.filter({ hasText: 'mine' }).waitFor({ state: 'attached' })
    assert.deepEqual(await choices.allTextContents(), ['Yourself', 'mine'])
    await api.json('PUT', '/agent/grants', {
      ...{ resource_type: 'identity', resource_id: identity.uid, principal_ids: [guest.uid] },
    })
    await page.goto(new URL(at, service.base_url).href)
    await page.getByRole('link', { name: 'New run as reviewer' }).click()
    // It opens filled, and shows with what.
    await page.getByLabel('Run as').locator('option', { hasText: 'reviewer' }).waitFor({ state: 'attached' })
    assert.equal(await page.getByLabel('Run as').inputValue(), identity.uid)
    await page.getByLabel('Worker pool').fill(NOBODY)
    await page.getByRole('textbox', { name: 'Prompt' }).fill('Review it.')
    await page.getByRole('button', { name: 'Start the run' }).click()
    await page.locator('header [data-state]', { hasText: 'Queued' }).waitFor()
    const run = await api.json<RunItem>('GET', `/agent/runs/${idOf(page)}`)
    assert.deepEqual([run.executor.uid, run.creator.uid], [identity.uid, guest.uid])
    assert.deepEqual(complaints, [])
  })

  test('the form offers the pools there are, and says what becomes of a run in each', async () => {
    await api.json('PUT', '/agent/grants', {
      ...{ resource_type: 'pool', resource_id: 'gpu', principal_ids: [guest.uid] },
    })
    await using opened = await openPage(service, { at: '/new' })
    const { page, complaints } = opened
    await page.getByRole('textbox', { name: 'Prompt' }).fill('Wait.')
    await more(page).click()
    const pool = page.getByRole('combobox', { name: 'Worker pool' })
    await page.getByText('default: 1 worker ready.').waitFor()
    const options = await page.locator(`[id="${await pool.getAttribute('list')}"] option`).all()
    const offered = await Promise.all(
      options.map(async (option) => [await option.getAttribute('value'), await option.getAttribute('label')]),
    )
    assert.deepEqual(offered, [
      ['default', 'default · 1 worker ready'],
      ['gpu', 'gpu · no workers'],
    ])
    await pool.fill('gpu')
    await page.getByText('gpu has no workers: runs wait').waitFor()
    // What nobody has heard of is a pool, too.
    await pool.fill('typed-by-hand')
    await page.getByText('typed-by-hand has no workers that you can see').waitFor()
    await page.getByRole('button', { name: 'Start the run' }).click()
    await page.locator('header [data-state]', { hasText: 'Queued' }).waitFor()
    assert.equal((await api.get(idOf(page))).agent_config.worker_host, 'typed-by-hand')
    assert.deepEqual(complaints, [])
  })

  test('a trigger shows what its runs may spend, who executes them and what they are found by', async () => {
    await using opened = await openPage(service, { at: '/triggers/new' })
    const { page, complaints } = opened
    await page.getByLabel('Name', { exact: true }).fill('issues')
    await page.getByRole('textbox', { name: 'Prompt' }).fill('Look.')
    await more(page).click()
    await page.getByLabel('Run as').selectOption('reviewer')
    await page.getByLabel('At most, US dollars').fill('2')
    await page.getByLabel('Priority').fill('-5')
    await page.getByLabel('Metadata').fill('team=web')
    await checkAccess(page)
    await page.getByRole('button', { name: 'Create the trigger' }).click()
    await page.getByRole('link', { name: 'Open the trigger' }).click()
    // Folded out, since there is something in it.
    await page.getByLabel('At most, tokens').fill('5000')
    assert.equal(await page.getByLabel('At most, US dollars').inputValue(), '2')
    assert.equal(await page.getByLabel('Priority').inputValue(), '-5')
    assert.equal(await page.getByLabel('Run as').inputValue(), identity.uid)
    await page.getByLabel('Metadata').fill('')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    const saved = await api.json<Trigger>('GET', `/agent/triggers/${idOf(page)}`)
    assert.deepEqual(
      [saved.agent_uid, saved.budget, saved.metadata, saved.priority],
      [identity.uid, { max_cost_usd: 2, max_tokens: 5000 }, {}, -5],
    )
    assert.deepEqual(complaints, [])
  })

  test('saving keeps what the forms do not show, and takes away what was taken out', async () => {
    const said = { priority: 9, budget: { max_cost_usd: 2 }, output_schema: { type: 'object' } }
    const mcp_servers = { db: { url: 'https://db.example/', headers: { key: 'secret' } } }
    const template = { prompt: 'Look.', title: 'Before', ...said, agent_config: { mcp_servers } }
    const { trigger_id } = await api.json<Trigger>('POST', '/agent/triggers', {
      ...{ ...template, name: 'kept', verification: 'github' },
    })
    const { id } = await api.json<ScheduledAgentItem>('POST', '/agent/schedules', {
      ...{ ...template, name: 'kept', cron_schedule: '0 3 * * *', time_zone: 'UTC' },
    })
    for (const path of [`/triggers/${trigger_id}`, `/schedules/${id}`]) {
      await using opened = await openPage(service, { at: path })
      const { page, complaints } = opened
      const save = async () => {
        const written = page.waitForResponse((response) => response.request().method() === 'PUT')
        await page.getByRole('button', { name: 'Save' }).click()
        assert.equal((await written).status(), 200)
        const saved = await api.json<Trigger>('GET', `/agent${path}`)
        const { title, priority, budget, output_schema, agent_config } = saved
        assert.equal(agent_config.mcp_servers?.db?.headers?.key, '***')
        return { title, priority, budget, output_schema }
      }
      // It opens folded out, as there is something in it.
      await page.getByLabel('Title of its runs').fill('After')
      assert.deepEqual(await save(), { title: 'After', ...said }, path)
      assert.equal(await page.getByLabel('Priority').inputValue(), '9')
      await page.getByLabel('Priority').fill('')
      await page.getByLabel('At most, US dollars').fill('')
      await page.getByLabel('Title of its runs').fill('')
      await page.getByLabel('Result', { exact: true }).fill('{')
      assert.equal(await page.getByRole('button', { name: 'Save' }).isDisabled(), true)
      await page.getByLabel('Result', { exact: true }).fill('')
      const nothing = { title: undefined, priority: undefined, budget: undefined, output_schema: undefined }
      assert.deepEqual(await save(), nothing, path)
      assert.deepEqual(complaints, [])
    }
  })

  test('a schedule says who executes its runs, and the list how the last one stands', async () => {
    await using opened = await openPage(service, { at: '/schedules/new' })
    const { page, complaints } = opened
    await page.getByLabel('Name', { exact: true }).fill('often')
    await page.getByLabel('When', { exact: true }).fill('*/10 * * * * *')
    await page.getByRole('textbox', { name: 'Prompt' }).fill(shell('exit 3'))
    await page.getByLabel('Agent').selectOption('runbook')
    await page.getByLabel('For times that were missed').selectOption('skip')
    await more(page).click()
    await page.getByLabel('Run as').selectOption('reviewer')
    await page.getByLabel('At most, minutes of work').fill('2.5')
    await page.getByLabel('Priority').fill('7')
    await page.getByLabel('Title of its runs').fill('Every ten seconds')
    await page.getByLabel('Metadata').fill('team=web')
    await checkAccess(page)
    await page.getByRole('button', { name: 'Create the schedule' }).click()
    await page.getByRole('heading', { name: 'often' }).waitFor()
    const schedule_id = idOf(page)
    const saved = await api.json<ScheduledAgentItem>('GET', `/agent/schedules/${schedule_id}`)
    assert.deepEqual(
      [saved.agent_uid, saved.catch_up, saved.metadata, saved.budget, saved.priority],
      [identity.uid, 'skip', { team: 'web' }, { max_duration_minutes: 2.5 }, 7],
    )
    await page.getByRole('list', { name: 'History' }).locator('[data-state=FAILED]').first().waitFor()
    await api.json('POST', `/agent/schedules/${schedule_id}/pause`)
    await page.getByRole('link', { name: 'Schedules' }).click()
    const row = page.getByRole('list', { name: 'Schedules' }).getByRole('listitem')
    const last = row.filter({ hasText: 'often' }).getByRole('link', { name: 'Failed' })
    await last.waitFor()
    await checkAccess(page)
    await last.click()
    await page.locator('header [data-state]', { hasText: 'Failed' }).waitFor()
    const run = await api.get(idOf(page))
    assert.deepEqual([run.schedule?.schedule_id, run.title], [schedule_id, 'Every ten seconds'])
    assert.deepEqual(complaints, [])
  })

  test('of more than a page of environments, and of schedules, all can be found and chosen', async () => {
    const [oldest, ...others] = Array.from({ length: 101 }, (_, n) => `many ${n}`)
    for (const name of [oldest, ...others]) {
      await api.json('POST', '/agent/environments', { name })
      // Lists of both have their pages from one hook.
      if (!LONG) continue
      const schedule = { name, cron_schedule: '0 3 * * *', prompt: 'Look.', enabled: false }
      await api.json('POST', '/agent/schedules', schedule)
    }
    await using opened = await openPage(service, { at: '/environments' })
    const { page, complaints } = opened
    for (const list of LONG ? ['Environments', 'Schedules'] : ['Environments']) {
      await page.getByRole('navigation').getByRole('link', { name: list, exact: true }).click()
      const rows = page.getByRole('list', { name: list }).getByRole('link', { name: /^many \d+$/ })
      await page.getByRole('button', { name: `More ${list.toLowerCase()}` }).click()
      await page.getByRole('button', { name: `More ${list.toLowerCase()}` }).waitFor({ state: 'detached' })
      assert.deepEqual(new Set(await rows.allTextContents()), new Set([oldest, ...others]), list)
    }
    await page.getByRole('link', { name: 'New run', exact: true }).click()
    for (const name of [oldest, others.at(-1)])
      await page.getByLabel('Environment', { exact: true }).selectOption({ label: name ?? '' })
    assert.deepEqual(complaints, [])
  })
})
