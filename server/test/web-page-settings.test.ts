/** The pages of what runs are made of and by, in Chromium. */
import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Environment } from '../src/contract/environment.ts'
import { findChromium } from './support/browser.ts'
import { git, makeRepository } from './support/git.ts'
import { apiOf, shell, startService, type TestService, temporaryDirectory } from './support/service.ts'
import { checkAccess, moveTo, openPage } from './support/web-page.ts'

const skip = findChromium() ? false : 'there is no Chromium on this machine'
const RUNBOOK = { harness: { type: 'runbook' } }

describe('the pages of settings', { skip }, () => {
  const repositories = temporaryDirectory('local')
  let service: TestService
  let api: ReturnType<typeof apiOf>

  before(async () => {
    service = await startService({ env: { RUNYARD_LOCAL_REPOS: repositories } })
    api = apiOf(service)
  })
  after(async () => {
    await service?.stop()
  })

  test('an environment is made, changed without losing values, run in and deleted', async () => {
    await using opened = await openPage(service, { at: '/environments' })
    const { page, complaints } = opened
    await page.getByText('No environment yet').waitFor()
    await checkAccess(page)
    await page.getByRole('link', { name: 'New environment' }).click()
    await page.getByLabel('Name').fill('made here')
    await page.getByLabel('Setup commands').fill('true\ntest "$GREETING" = "hello you"')
    await page.getByLabel('Variables').fill('GREETING=hello you')
    await checkAccess(page)
    await page.getByRole('button', { name: 'Create the environment' }).click()
    await page.getByRole('heading', { name: 'made here' }).waitFor()
    await page.getByText('GREETING=***').waitFor()
    await page.getByLabel('What it is for').fill('Greetings')
    await page.getByText('More: network').click()
    await page.getByLabel('Network').selectOption('none')
    await page.getByLabel('Allowed hosts').fill('api.example.com\n*.example.org')
    await page.getByLabel('Permissions').fill('allow')
    assert.equal(await page.getByRole('button', { name: 'Save' }).isDisabled(), true)
    await page.getByLabel('Permissions').fill('allow:bash')
    await page.getByLabel('Memory, MiB').fill('512')
    await page.getByLabel('Keep workspaces, days').fill('3')
    await checkAccess(page)
    await page.getByRole('button', { name: 'Save' }).click()
    await page
      .getByRole('status')
      .filter({ hasText: 'Saved' })
      .or(page.getByText('Greetings'))
      .first()
      .waitFor()

    const { config } = await api.json<Environment>('GET', '/agent/environments/made%20here')
    assert.deepEqual(
      [config.egress, config.allowed_hosts, config.permissions, config.limits, config.retention],
      [
        ...['none', ['api.example.com', '*.example.org'], [{ action: 'allow', tool: 'bash' }]],
        ...[{ memory_mb: 512 }, { workspace_days: 3 }],
      ],
    )
    await page.getByRole('link', { name: 'New run here' }).click()
    await page.getByRole('textbox', { name: 'Prompt' }).fill(shell('echo "$GREETING"'))
    await page.getByLabel('Agent').selectOption('runbook')
    await page.getByRole('button', { name: 'Start the run' }).click()
    await page.locator('header [data-state]', { hasText: 'Succeeded' }).waitFor()
    await page.getByRole('link', { name: 'Environments' }).click()
    await page.getByRole('listitem').filter({ hasText: 'made here' }).getByText('Succeeded').waitFor()
    await page.getByRole('link', { name: 'made here' }).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete the environment' }).click()
    await page.getByText('No environment yet').waitFor()
    // A name that is taken is said at the form.
    await api.json('POST', '/agent/environments', { name: 'taken' })
    await page.getByRole('link', { name: 'New environment' }).click()
    await page.getByLabel('Name').fill('taken')
    await page.getByRole('button', { name: 'Create the environment' }).click()
    await page.getByRole('alert').waitFor()
    assert.deepEqual(
      complaints.filter((text) => !text.includes('409')),
      [],
    )
  })

  test('a key is made, shown once, and revoked', async () => {
    await using opened = await openPage(service, { at: '/keys' })
    const { page, complaints } = opened
    const form = page.getByRole('form', { name: 'Create key' })
    await form.getByLabel('Name').fill('Build server')
    await form.getByLabel('Role').selectOption('viewer')
    const create = form.getByRole('button', { name: 'Create key' })
    // It does what its owner may do, so nobody is chosen unasked.
    assert.equal(await create.isDisabled(), true)
    await form.getByLabel('Owner').selectOption('dev')
    await create.click()
    const shown = page.getByRole('status').locator('pre')
    await shown.waitFor()
    const key = (await shown.textContent()) ?? ''
    const asKey = apiOf({ base_url: service.base_url, api_key: key })
    assert.equal((await asKey.call('GET', '/agent/runs')).status, 200)
    assert.equal((await asKey.call('POST', '/agent/runs', { prompt: 'x' })).status, 403)
    await checkAccess(page)
    await page.reload()
    const row = page.getByRole('listitem').filter({ hasText: 'Build server' })
    await row.waitFor()
    assert.equal(await page.getByText(key).count(), 0)
    await row.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke the key' }).click()
    await row.getByText('revoked').waitFor()
    assert.equal((await asKey.call('GET', '/agent/runs')).status, 401)
    assert.deepEqual(complaints, [])
  })

  test('a person is added, with a link that signs them in once, and then given a key', async () => {
    await using opened = await openPage(service, { at: '/keys' })
    const { page, complaints } = opened
    const form = page.getByRole('form', { name: 'Add person' })
    await form.getByLabel('Name').fill('Grace Hopper')
    await form.getByLabel('Role').selectOption('Member')
    await form.getByRole('button', { name: 'Add person' }).click()
    const link = (await form.getByRole('status').locator('pre').textContent()) ?? ''
    // Every list has the person at once, and the form of a key can name her.
    await page.getByRole('list', { name: 'People' }).getByText('Grace Hopper').waitFor()
    await page.getByRole('list', { name: 'API keys' }).getByText('Grace Hopper').first().waitFor()
    const keys = page.getByRole('form', { name: 'Create key' })
    await keys.getByLabel('Owner').selectOption('Grace Hopper')
    await keys.getByLabel('Name').fill('laptop')
    await keys.getByRole('button', { name: 'Create key' }).click()
    const key = (await keys.getByRole('status').locator('pre').textContent()) ?? ''
    const listed = await apiOf({ base_url: service.base_url, api_key: key }).json<{
      api_keys: Array<{ name: string; principal: { display_name: string } }>
    }>('GET', '/api-keys')
    assert.deepEqual(
      listed.api_keys.map(({ name, principal }) => [name, principal.display_name]),
      [
        ['laptop', 'Grace Hopper'],
        ['Grace Hopper', 'Grace Hopper'],
      ],
    )
    await page.getByText('member · 2 keys').waitFor()
    await checkAccess(page)
    assert.deepEqual(complaints, [])
    const { origin } = new URL(service.base_url)
    await using other = await openPage(service, { at: link.slice(origin.length), is_signed_in: false })
    await other.page.getByRole('button', { name: 'Sign in' }).click()
    await other.page.getByRole('button', { name: 'Menu of Grace Hopper' }).waitFor()
  })

  test('a person is disabled and enabled', async () => {
    const body = { name: 'leaving guest', role: 'member', new_user: true }
    const guest = await api.json<{ api_key: string }>('POST', '/api-keys', body)
    const asGuest = apiOf({ base_url: service.base_url, api_key: guest.api_key })
    await using opened = await openPage(service, { at: '/keys' })
    const { page, complaints } = opened
    const people = page.getByRole('list', { name: 'People' }).getByRole('listitem')
    const row = people.filter({ hasText: 'leaving guest' })
    await row.getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Disable the person' }).click()
    await row.getByText('disabled').waitFor()
    assert.equal((await asGuest.call('GET', '/agent/runs')).status, 401)
    await checkAccess(page)
    await row.getByRole('button', { name: 'Enable leaving guest' }).click()
    await row.getByRole('button', { name: 'Disable' }).waitFor()
    assert.equal((await asGuest.call('GET', '/agent/runs')).status, 200)
    assert.deepEqual(complaints, [])
  })

  test('a pool is for who is named for it', async () => {
    const guest = await api.json<{ principal: { uid: string } }>('POST', '/api-keys', {
      ...{ name: 'pool guest', role: 'member', new_user: true },
    })
    await using opened = await openPage(service, { at: '/keys' })
    const { page, complaints } = opened
    // The newest is the first.
    const keys = page.getByRole('list', { name: 'API keys' }).getByRole('listitem')
    await keys.first().getByText('pool guest').first().waitFor()
    const pools = page.getByRole('list', { name: 'Pools of workers' }).getByRole('listitem')
    const usual = pools.filter({ has: page.getByRole('link', { name: 'default', exact: true }) })
    await usual.getByText(/^1 worker ready · 0 of \d+ slots busy/).waitFor()
    // One that nobody serves and nobody was named for is in no list.
    assert.equal(await pools.count(), 1)
    await page.getByLabel('Another pool').fill('gpu')
    await page.getByLabel('Another pool').press('Enter')
    await page.getByRole('heading', { name: 'Pool gpu' }).waitFor()
    await page.getByText('Everybody who may write.').waitFor()
    await page.getByText('No workers that you can see.').waitFor()
    await page.getByLabel('Let somebody use it').selectOption(guest.principal.uid)
    const named = page.getByRole('list', { name: 'Who may use it' }).getByRole('listitem')
    await named.getByText('pool guest').waitFor()
    await checkAccess(page)
    const path = '/agent/grants?resource_type=pool&resource_id=gpu'
    const { restricted } = await api.json<{ restricted: boolean }>('GET', path)
    assert.equal(restricted, true)
    await page.getByText('no workers · only for those who were named').waitFor()
    await api.create({ prompt: 'Wait.', config: { worker_host: 'gpu' } })
    await page.getByRole('link', { name: 'Access' }).last().click()
    const listed = pools.filter({ has: page.getByRole('link', { name: 'gpu', exact: true }) })
    // It is read again by and by.
    await listed.getByText('no workers · 1 run waits').waitFor()
    await listed.getByRole('link', { name: 'gpu' }).click()
    await named.getByRole('button', { name: 'Take it away from pool guest' }).click()
    await page.getByText('Everybody who may write.').waitFor()
    assert.deepEqual(complaints, [])
  })

  test('who is no admin is offered what they may do with keys, and no more', async () => {
    for (const role of ['member', 'viewer']) {
      const body = { name: `a ${role}`, role, new_user: true }
      const { api_key } = await api.json<{ api_key: string }>('POST', '/api-keys', body)
      const who = { base_url: service.base_url, api_key }
      await using opened = await openPage(who, { at: '/keys' })
      const { page, complaints } = opened
      const row = page.getByRole('list', { name: 'API keys' }).getByRole('listitem')
      await row.getByText(`a ${role}`).first().waitFor()
      assert.equal(await row.count(), 1)
      assert.equal(await page.getByRole('button', { name: 'Create key' }).count(), 0)
      assert.equal(await page.getByRole('link', { name: 'Audit log' }).count(), 0)
      assert.equal(await page.getByRole('list', { name: 'People' }).count(), 0)
      const makers = page.getByRole('link', { name: 'New identity' })
      assert.equal(await makers.count(), role === 'member' ? 1 : 0)
      await row.getByRole('button', { name: 'Rotate' }).click()
      await page.getByRole('alertdialog').getByRole('button', { name: 'Rotate the key' }).click()
      const rotated = (await page.getByRole('status').locator('pre').textContent()) ?? ''
      const asKey = apiOf({ base_url: service.base_url, api_key: rotated })
      assert.equal((await asKey.call('GET', '/agent/runs')).status, 200)
      await page.getByText('replaced, ends').waitFor()
      await page.getByRole('button', { name: `Menu of a ${role}` }).click()
      await page.getByRole('menuitem', { name: 'Workers' }).waitFor()
      assert.equal(await page.getByRole('menuitem', { name: 'Settings' }).count(), 0)
      assert.deepEqual(complaints, [])
    }
  })

  test('an identity is made, changed, given a key and lent; the audit log says so', async () => {
    const guest = await api.json<{ api_key: string; principal: { uid: string } }>('POST', '/api-keys', {
      ...{ name: 'guest', role: 'member', new_user: true },
    })
    await using opened = await openPage(service, { at: '/keys' })
    const { page, complaints } = opened
    await page.getByRole('link', { name: 'New identity' }).click()
    await page.getByRole('heading', { level: 1, name: 'New identity' }).waitFor()
    await page.getByLabel('Name', { exact: true }).fill('reviewer')
    await page.getByLabel('Prompt', { exact: true }).fill('Review what changed.')
    await page.getByLabel('Agent').selectOption('claude')
    await checkAccess(page)
    await page.getByRole('button', { name: 'Create the identity' }).click()
    await page.getByRole('heading', { name: 'reviewer' }).waitFor()
    const uid = new URL(page.url()).pathname.split('/').at(-1) ?? ''
    await page.getByLabel('Description').fill('Reads along')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    const identity = await api.json<Record<string, unknown>>('GET', `/agent/identities/${uid}`)
    assert.equal(identity.description, 'Reads along')
    assert.equal(identity.prompt, 'Review what changed.')
    assert.deepEqual(identity.harness, { type: 'claude' })

    await page.getByLabel('Key name').fill('bot')
    await page.getByRole('button', { name: 'Create key' }).click()
    const key = (await page.getByRole('status').locator('pre').textContent()) ?? ''
    const asBot = apiOf({ base_url: service.base_url, api_key: key })
    const { api_keys } = await asBot.json<{ api_keys: { principal: { uid: string } }[] }>('GET', '/api-keys')
    assert.deepEqual(
      api_keys.map(({ principal }) => principal.uid),
      [uid],
    )

    const grants = `/agent/grants?resource_type=identity&resource_id=${uid}`
    await page.getByText('Admins, and who made it.').waitFor()
    await page.getByLabel('Let somebody use it').selectOption(guest.principal.uid)
    const lent = page.getByRole('list', { name: 'Who may use it' }).getByRole('listitem')
    await lent.getByText('guest').waitFor()
    const { grants: given } = await api.json<{ grants: { principal: { uid: string } }[] }>('GET', grants)
    assert.deepEqual(
      given.map(({ principal }) => principal.uid),
      [guest.principal.uid],
    )
    await checkAccess(page)
    await lent.getByRole('button', { name: 'Take it away from guest' }).click()
    await page.getByText('Admins, and who made it.').waitFor()

    await page.getByRole('link', { name: 'Access', exact: true }).click()
    await page.getByRole('link', { name: 'Audit log' }).click()
    const entries = page.getByRole('list', { name: 'Audit log' }).getByRole('listitem')
    await page.getByLabel('What was done').fill('putGrants')
    await page.getByRole('button', { name: 'Show' }).click()
    await page.waitForURL(/action=putGrants/)
    await entries.filter({ hasNotText: 'putGrants' }).waitFor({ state: 'detached' })
    const own = entries.filter({ hasText: uid }).filter({ hasText: 'Changed who may use something' })
    await own.nth(1).waitFor()
    assert.equal(await own.count(), 2)
    await checkAccess(page)
    // A refusal is seen, with who was refused.
    await apiOf({ base_url: service.base_url, api_key: guest.api_key }).call('GET', '/audit-log')
    // By way of another page, so that what was searched for before is gone from the fields.
    await moveTo(page, '/keys')
    await moveTo(page, `/keys/audit?who=${guest.principal.uid}&days=1`)
    const refused = entries.filter({ hasText: 'refused, 403' }).filter({ hasText: 'guest' })
    await refused.filter({ hasText: 'Tried to read the audit log' }).waitFor()
    await page.getByLabel('To what').fill('nothing of this name')
    await page.getByRole('button', { name: 'Show' }).click()
    await page.getByText('Nothing like this was done.').waitFor()

    await moveTo(page, `/keys/identities/${uid}`)
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete the identity' }).click()
    await page.waitForURL(/\/keys$/)
    assert.equal((await asBot.call('GET', '/agent/runs')).status, 401)
    assert.deepEqual(complaints, [])
  })

  test('a secret is kept by keyboard, never shown, replaced, used by a run and deleted', async () => {
    await using opened = await openPage(service, { at: '/secrets' })
    const { page, complaints } = opened
    await page.getByText('No secret yet').waitFor()
    await checkAccess(page)
    await page.keyboard.press('Control+k')
    await page.keyboard.type('new secret')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'New secret' }).waitFor()
    await page.getByLabel('Name', { exact: true }).focus()
    await page.keyboard.type('PASSPHRASE')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await page.keyboard.type('first words')
    const value = page.getByLabel('Value')
    assert.equal(await value.inputValue(), 'first words')
    // Dots on the screen, also while it is typed.
    assert.equal(await page.evaluate('getComputedStyle(document.activeElement).webkitTextSecurity'), 'disc')
    await checkAccess(page)
    await page.keyboard.press('Tab')
    await page.keyboard.type('Opens the store')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'PASSPHRASE' }).waitFor()
    await page.getByText('version 1').waitFor()
    assert.equal(await page.getByLabel('New value').inputValue(), '')
    await page.getByLabel('New value').fill('second words\n')
    await page.getByRole('button', { name: 'Replace the value' }).click()
    await page.getByText('Kept as version 2').waitFor()
    assert.equal(await page.getByLabel('New value').inputValue(), '')
    assert.equal((await page.content()).includes('second words'), false)
    const keeper = await api.json<{ principal: { uid: string } }>('POST', '/api-keys', {
      ...{ name: 'keeper', new_user: true },
    })
    await page.reload()
    await page.getByText('Everybody who may write.').waitFor()
    await page.getByLabel('Let somebody use it').selectOption(keeper.principal.uid)
    const named = page.getByRole('list', { name: 'Who may use it' }).getByRole('listitem')
    await named.getByText('keeper').waitFor()
    await checkAccess(page)
    const kept = await api.json<{ restricted: boolean }>('GET', '/agent/secrets/PASSPHRASE')
    assert.equal(kept.restricted, true)

    const environment = { name: 'guarded', secrets: ['PASSPHRASE'] }
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', environment)
    const prompt = shell('test "$PASSPHRASE" = "second words"')
    const run = await api.ended(await api.create({ prompt, config: { ...RUNBOOK, environment_id: uid } }))
    assert.equal(run.state, 'SUCCEEDED')
    await api.json('DELETE', `/agent/environments/${uid}`)

    // A new one does not replace one that is there.
    await page.getByRole('link', { name: 'Secrets' }).click()
    await page.getByRole('link', { name: 'New secret' }).click()
    await page.getByLabel('Name', { exact: true }).fill('PASSPHRASE')
    await page.getByLabel('Value').fill('third words')
    await page.getByRole('button', { name: 'Create the secret' }).click()
    await page.getByRole('alert').filter({ hasText: 'already' }).waitFor()
    await page.getByLabel('What it is').selectOption('git')
    await page.getByLabel('Name', { exact: true }).fill('GITHUB')
    await page.getByLabel('Token').fill('ghp_not_a_real_one')
    await page.getByLabel('Repositories').fill('acme/site\nacme-labs/*')
    await page.getByLabel('never pushes').check()
    await checkAccess(page)
    await page.getByRole('button', { name: 'Create the secret' }).click()
    await page.getByRole('heading', { name: 'GITHUB' }).waitFor()
    // What is said of it stays with another value.
    await page.getByLabel('New token').fill('ghp_another_one')
    await page.getByRole('button', { name: 'Replace the value' }).click()
    await page.getByText('Kept as version 2').waitFor()
    const { secrets } = await api.json<{ secrets: { name: string; git?: object; version: number }[] }>(
      ...(['GET', '/agent/secrets'] as const),
    )
    assert.deepEqual(
      secrets.map(({ name, git, version }) => [name, git, version]),
      [
        ['GITHUB', { host: 'github.com', repositories: ['acme/site', 'acme-labs/*'], read_only: true }, 2],
        ['PASSPHRASE', undefined, 2],
      ],
    )

    await page.getByRole('link', { name: 'Secrets' }).click()
    const row = page.getByRole('list', { name: 'Secrets' }).getByRole('listitem')
    await row.filter({ hasText: 'acme/site, acme-labs/* · never pushes' }).waitFor()
    await row.filter({ hasText: 'Opens the store' }).filter({ hasText: 'version 2' }).waitFor()
    await checkAccess(page)
    for (const name of ['GITHUB', 'PASSPHRASE']) {
      await page.getByRole('link', { name }).click()
      await page.getByRole('button', { name: 'Delete' }).click()
      await page.getByRole('alertdialog').getByRole('button', { name: 'Delete the secret' }).click()
      await page.waitForURL(/\/secrets$/)
    }
    await page.getByText('No secret yet').waitFor()
    assert.deepEqual(complaints, [])
  })

  test('who only reads sees secrets, and is offered none', async () => {
    await api.json('PUT', '/agent/secrets/SEEN', { value: 'never shown', description: 'For all' })
    const body = { name: 'a reader', role: 'viewer', new_user: true }
    const { api_key } = await api.json<{ api_key: string }>('POST', '/api-keys', body)
    const who = { base_url: service.base_url, api_key }
    await using opened = await openPage(who, { at: '/secrets' })
    const { page, complaints } = opened
    await page.getByRole('link', { name: 'SEEN' }).click()
    await page.getByText('For runs of the team').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Delete' }).count(), 0)
    assert.equal(await page.getByLabel('New value').count(), 0)
    await page.keyboard.press('Control+k')
    await page.keyboard.type('new')
    await page.getByRole('dialog').getByText('New secret').waitFor({ state: 'detached' })
    await api.json('DELETE', '/agent/secrets/SEEN')
    assert.deepEqual(complaints, [])
  })

  test('a schedule is made, starts runs, is paused and deleted', async () => {
    await using opened = await openPage(service, { at: '/schedules' })
    const { page, complaints } = opened
    await page.getByText('No schedule yet').waitFor()
    await page.getByRole('link', { name: 'New schedule' }).click()
    await page.getByLabel('Name').fill('often')
    await page.getByLabel('When').fill('every minute')
    await page.getByRole('textbox', { name: 'Prompt' }).fill(shell('echo on time'))
    await page.getByRole('button', { name: 'Create the schedule' }).click()
    await page.getByRole('alert').filter({ hasText: 'cron_schedule' }).waitFor()
    await checkAccess(page)
    await page.getByLabel('When').fill('*/10 * * * * *')
    await page.getByText(/^Would run /).waitFor()
    await checkAccess(page)
    await page.getByRole('button', { name: 'Create the schedule' }).click()
    await page.getByRole('heading', { name: 'often' }).waitFor()
    const schedule_id = new URL(page.url()).pathname.split('/').at(-1) ?? ''
    const allEnded = async () => {
      const { runs } = await api.json<{ runs: { run_id: string }[] }>(
        ...(['GET', `/agent/runs?schedule_id=${schedule_id}`] as const),
      )
      for (const { run_id } of runs) await api.ended(run_id)
    }
    assert.equal(await page.getByRole('list', { name: 'Next times' }).getByRole('listitem').count(), 3)
    // In the zone that it is kept in, whatever that of the reader.
    await page.getByLabel('Time zone').fill('Asia/Kathmandu')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Asia/Kathmandu time').waitFor()
    const time = page.getByRole('list', { name: 'Next times' }).locator('time').first()
    const due = new Date((await time.getAttribute('datetime')) ?? '')
    const there = due.toLocaleTimeString('en', { timeStyle: 'short', timeZone: 'Asia/Kathmandu' })
    assert((await time.textContent())?.includes(there))
    await page.getByRole('list', { name: 'History' }).locator('a [data-state]').first().waitFor()
    await checkAccess(page)
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    await page.getByLabel('Name').fill('seldom')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'seldom' }).waitFor()
    // What the form does not show stays: it is still paused.
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    await page.getByRole('link', { name: 'Schedules' }).click()
    const row = page.getByRole('listitem').filter({ hasText: 'seldom' })
    await row.getByText('Paused').waitFor()
    // While an earlier one is at work, it would start none.
    await allEnded()
    await row.getByRole('button', { name: 'Run now: seldom' }).click()
    await row.getByText('Started.').waitFor()
    await checkAccess(page)
    await page.getByRole('link', { name: 'seldom' }).click()
    await page.getByRole('list', { name: 'History' }).getByText('Asked for by').first().waitFor()
    await allEnded()
    await page.getByRole('button', { name: 'Run now' }).click()
    await page.getByText('Started.').waitFor()
    await checkAccess(page)
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete the schedule' }).click()
    await page.getByText('No schedule yet').waitFor()
    assert.deepEqual(
      complaints.filter((text) => !text.includes('400')),
      [],
    )
  })

  test('usage and skills are read at any width, in the dark too', async () => {
    await api.ended(await api.create({ prompt: shell('exit 3'), config: RUNBOOK }))
    await using opened = await openPage(service, { at: '/usage?days=7', width: 380, dark: true })
    const { page, complaints } = opened
    await page.getByRole('img', { name: /runs? in/ }).waitFor()
    await page.getByRole('table').first().getByText('runbook').waitFor()
    // The line of a single day has no extent that could be seen.
    for (const plot of ['Succeeded per day', 'Time by agent'])
      await page
        .getByRole('img', { name: plot })
        .locator('svg.recharts-surface path')
        .first()
        .waitFor({ state: 'attached' })
    const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
    assert(Number(await page.evaluate(overflow)) <= 0)
    await checkAccess(page)
    await page.getByLabel('Time', { exact: true }).selectOption('30')
    await page.waitForURL(/days=30/)
    await page.getByRole('button', { name: 'Menu of dev' }).click()
    await page.getByRole('menuitem', { name: 'Skills' }).click()
    await page.getByText('No skill yet').waitFor()
    assert.equal(await page.getByRole('link', { name: 'environment', exact: true }).count(), 1)
    await checkAccess(page)
    for (const [path, name] of [
      ['/', 'Runs'],
      ['/new', 'New run'],
      ['/keys', 'Access'],
      ['/keys/audit', 'Audit log'],
      ['/keys/identities/new', 'New identity'],
      ['/environments', 'Environments'],
      ['/secrets/new', 'New secret'],
      ['/triggers/new', 'New trigger'],
      ['/webhooks/new', 'New webhook'],
    ] as const) {
      await moveTo(page, path)
      await page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
      assert(Number(await page.evaluate(overflow)) <= 0, path)
    }
    assert.deepEqual(complaints, [])
  })

  test('skills are read again at a press, and what could not be read is named', async () => {
    const local_path = join(repositories, 'site')
    makeRepository(local_path)
    mkdirSync(join(local_path, '.claude/skills/tidy'), { recursive: true })
    writeFileSync(
      join(local_path, '.claude/skills/tidy/SKILL.md'),
      '---\nname: tidy\ndescription: Tidies up.\n---\nTidy.\n',
    )
    git(local_path, 'add', '--all')
    git(local_path, 'commit', '--quiet', '--message', 'A skill')
    await api.json('POST', '/agent/environments', { name: 'tidied', repositories: [{ local_path }] })
    await using opened = await openPage(service, { at: '/skills' })
    const { page, complaints } = opened
    await page.getByText('No skill yet').waitFor()
    const again = page.getByRole('button', { name: 'Read repositories again' })
    await again.click()
    await page.getByRole('listitem').filter({ hasText: 'Tidies up. In tidied.' }).waitFor()
    rmSync(local_path, { recursive: true })
    await again.click()
    await page.getByRole('alert').filter({ hasText: 'tidied could not be read again' }).waitFor()
    await page.getByRole('listitem').filter({ hasText: 'Tidies up.' }).waitFor()
    await checkAccess(page)
    assert.deepEqual(complaints, [])
  })
})
