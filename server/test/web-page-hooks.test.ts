/** The pages of what comes from others and goes to others, in Chromium: triggers and webhooks. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import type { HookAnswer, ListTriggersResponse, Trigger } from '../src/contract/trigger.ts'
import { findChromium } from './support/browser.ts'
import { apiOf, shell, startService, type TestService } from './support/service.ts'
import { checkAccess, moveTo, openPage } from './support/web-page.ts'
import { openWebhookReceiver, type WebhookReceiver } from './support/webhook-receiver.ts'

const skip = findChromium() ? false : 'there is no Chromium on this machine'
const RUNBOOK = { harness: { type: 'runbook' } }
const SECRETS: Record<Trigger['verification'], string> = {
  github: 'github-secret',
  gitlab: 'gitlab-token',
  slack: "slack's-$ecret",
  linear: 'lin_wh_0123',
  standard_webhooks: `whsec_${Buffer.from('a key of some bytes').toString('base64')}`,
}

describe('the pages of hooks', { skip }, () => {
  let service: TestService
  let api: ReturnType<typeof apiOf>
  let receiver: WebhookReceiver

  before(async () => {
    receiver = await openWebhookReceiver()
    service = await startService({
      env: { RUNYARD_PRIVATE_HOSTS: receiver.host, RUNYARD_CREATES_PER_MINUTE: '0' },
    })
    api = apiOf(service)
  })
  after(async () => {
    await service?.stop()
    await receiver?.close()
  })

  /** Runs a sample as somebody does who has copied it. */
  async function runSample(script: string): Promise<HookAnswer> {
    const { stdout } = await promisify(execFile)('sh', ['-euc', script])
    return JSON.parse(stdout) as HookAnswer
  }

  test('a trigger is made, tried by its own sample, replayed, changed, paused and deleted', async () => {
    await api.json('PUT', '/agent/secrets/GITHUB', {
      value: 'ghp_not_a_real_one',
      git: { host: 'github.com' },
    })
    await using opened = await openPage(service, { at: '/triggers' })
    const { page, complaints } = opened
    await page.getByText('No trigger yet').waitFor()
    await checkAccess(page)
    await page.keyboard.press('Control+k')
    await page.keyboard.type('new trig')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'New trigger' }).waitFor()
    await page.getByLabel('Name').fill('issues')
    await page.getByLabel('Prompt').fill(shell('echo {{payload.issue.title}}'))
    await page.getByLabel('Filter').fill('payload.action ==')
    await page.getByLabel('Agent').selectOption('runbook')
    await page.getByLabel('Answer in the thread').selectOption('GITHUB')
    await page.getByLabel('When').selectOption('end')
    await checkAccess(page)
    await page.getByRole('button', { name: 'Create the trigger' }).click()
    // Where the filter is wrong.
    await page.getByRole('alert').filter({ hasText: 'filter' }).waitFor()
    await page.getByLabel('Filter').fill('payload.action == "opened"')
    await page.getByRole('button', { name: 'Create the trigger' }).click()
    await page.getByText('It is there.').waitFor()
    await checkAccess(page)
    const shown = page.getByRole('status').locator('pre')
    const [url, secret, sample] = await shown.allTextContents()
    assert(url && secret && sample)
    const said = await runSample(sample)
    assert.equal(said.outcome, 'run_started')
    await api.ended(said.run_id ?? '')

    await page.getByRole('link', { name: 'Open the trigger' }).click()
    await page.getByRole('heading', { name: 'History' }).waitFor()
    await page.getByText(url, { exact: true }).waitFor()
    assert.equal((await page.content()).includes(secret), false)
    const trigger_id = new URL(page.url()).pathname.split('/').at(-1) ?? ''
    const rows = page.getByRole('list', { name: 'History' }).getByRole('listitem')
    await rows.getByRole('link', { name: 'Started a run' }).waitFor()
    await rows.filter({ hasText: 'issues' }).waitFor()
    // By keyboard.
    await rows.getByRole('button', { name: 'Replay' }).press('Enter')
    await rows.filter({ hasText: 'a replay' }).waitFor()
    assert.equal(await rows.count(), 2)
    await page.getByRole('link', { name: 'Runs of this trigger' }).click()
    await page.getByRole('button', { name: 'From one trigger' }).waitFor()
    await page.getByText('echo Try it').first().click()
    // The run leads back to what asked for it.
    await page
      .getByRole('complementary')
      .getByRole('link', { name: trigger_id.slice(-12) })
      .click()

    // Before it is saved: what it would do with what came.
    const trial = page.getByRole('list', { name: 'With the last deliveries' }).getByRole('listitem')
    await page.getByLabel('Filter').fill('payload.action == "op')
    await page.getByRole('status').filter({ hasText: 'filter' }).waitFor()
    await page.getByLabel('Filter').fill('payload.action == "closed"')
    await trial.getByText('Would be left out').waitFor()
    await checkAccess(page)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    await checkAccess(page)
    const { triggers } = await api.json<ListTriggersResponse>('GET', '/agent/triggers')
    const [saved] = triggers
    assert(saved)
    assert.deepEqual(
      [saved.filter, saved.reply, saved.agent_config],
      ['payload.action == "closed"', { secret: 'GITHUB', when: 'end' }, RUNBOOK],
    )
    // The secret stayed: what it signs is still taken.
    assert.equal((await runSample(sample.replaceAll('try-', 'once-more-'))).outcome, 'filtered')
    await rows.filter({ hasText: 'Filtered out' }).waitFor()
    await page.getByRole('button', { name: 'Pause' }).press('Enter')
    // The keyboard is still there after the request.
    await page.getByRole('button', { name: 'Resume' }).and(page.locator(':focus')).waitFor()
    assert.equal(await rows.getByRole('button', { name: 'Replay' }).count(), 0)
    await page.getByRole('link', { name: 'Triggers' }).click()
    const row = page.getByRole('list', { name: 'Triggers' }).getByRole('listitem')
    await row.filter({ hasText: 'Paused' }).filter({ hasText: 'Filtered out' }).waitFor()
    await checkAccess(page)
    await page.getByRole('link', { name: 'issues' }).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete the trigger' }).click()
    await page.getByText('No trigger yet').waitFor()
    assert.deepEqual(
      complaints.filter((text) => !text.includes('400')),
      [],
    )
  })

  test('the sample of each sender is signed as that sender signs', async () => {
    await using opened = await openPage(service, { at: '/triggers' })
    const { page, complaints } = opened
    for (const [verification, secret] of Object.entries(SECRETS)) {
      // Nobody executes them: that they start is what is asked.
      const agent_config = { worker_host: 'nobody' }
      const asked = { name: verification, verification, secret, prompt: 'x', agent_config }
      const { trigger_id } = await api.json<Trigger>('POST', '/agent/triggers', asked)
      await moveTo(page, `/triggers/${trigger_id}`)
      await page.getByRole('heading', { level: 1, name: verification }).waitFor()
      await page.getByText('Try it with curl').click()
      const sample = (await page.locator('details pre').textContent()) ?? ''
      const quoted = `'${secret.replaceAll("'", `'\\''`)}'`
      const { outcome } = await runSample(sample.replace("SECRET='…'", () => `SECRET=${quoted}`))
      assert.equal(outcome, 'run_started', verification)
    }
    assert.deepEqual(complaints, [])
  })

  test('a webhook is made for a chat and for a mailbox, which are told what needs somebody', async () => {
    await using opened = await openPage(service, { at: '/webhooks/new' })
    const { page, complaints } = opened
    const events = page.getByRole('group', { name: 'Sent when a run' }).getByRole('checkbox')
    const chosen = () => events.evaluateAll((boxes) => boxes.filter((box) => box.matches(':checked')).length)
    await page.getByLabel('Address').fill(`http://${receiver.host}/chat`)
    assert.equal(await chosen(), 7)
    await page.getByLabel('What is sent').selectOption('slack')
    assert.equal(await chosen(), 5)
    await page.getByLabel('What is sent').selectOption('runyard')
    assert.equal(await chosen(), 7)
    await page.getByLabel('What is sent').selectOption('slack')
    await checkAccess(page)
    await page.getByRole('button', { name: 'Create the webhook' }).click()
    await page.getByText('Created. Open it and send a test.').waitFor()
    await page.getByRole('link', { name: 'Open the webhook' }).click()
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.getByRole('status').filter({ hasText: 'The test arrived' }).waitFor()
    assert.match(receiver.received.at(-1)?.body ?? '', /^\{"text":"Test: /)
    await page.getByLabel('Description').fill('Ours')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    assert.equal(await page.getByLabel('What is sent').inputValue(), 'slack')
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete the webhook' }).click()
    await page.getByRole('link', { name: 'New webhook' }).click()
    await page.getByLabel('Address').fill('lena@example.com')
    assert.equal(await page.getByLabel('What is sent').count(), 0)
    assert.equal(await chosen(), 5)
    // What somebody chose stays, whatever the address and the format become.
    await page.getByLabel('run.failed').uncheck()
    await page.getByLabel('Address').fill(`http://${receiver.host}/chat`)
    await page.getByLabel('What is sent').selectOption('discord')
    assert.equal(await chosen(), 4)
    await page.getByLabel('What is sent').selectOption('runyard')
    assert.equal(await chosen(), 4)
    await page.getByLabel('Address').fill('lena@example.com')
    assert.equal(await chosen(), 4)
    await page.getByRole('button', { name: 'Create the webhook' }).click()
    // This service has no mail server.
    await page.getByRole('alert').filter({ hasText: 'E-mail is not set up here' }).waitFor()
    await checkAccess(page)
    assert.deepEqual(
      complaints.filter((text) => !text.includes('400')),
      [],
    )
  })

  test('a webhook is told what was chosen, moved to another address, sent to again and read to its end', async () => {
    await using opened = await openPage(service, { at: '/webhooks' })
    const { page, complaints } = opened
    await page.getByText('No webhook yet').waitFor()
    await page.getByRole('link', { name: 'New webhook' }).click()
    await page.getByLabel('Address').fill(`http://${receiver.host}/first`)
    const events = page.getByRole('group', { name: 'Sent when a run' }).getByRole('checkbox')
    assert.equal(await events.count(), 7)
    for (const box of await events.all()) await box.uncheck()
    assert.equal(await page.getByRole('button', { name: 'Create the webhook' }).isDisabled(), true)
    await page.getByLabel('run.created').check()
    await page.getByLabel('run.cancelled').press('Space')
    await checkAccess(page)
    await page.getByRole('button', { name: 'Create the webhook' }).click()
    assert.match((await page.getByRole('status').locator('pre').textContent()) ?? '', /^whsec_/)
    await checkAccess(page)
    await page.getByRole('link', { name: 'Open the webhook' }).click()
    const webhook_id = new URL(page.url()).pathname.split('/').at(-1) ?? ''
    // Two each: more than a page.
    for (let run = 0; run < 26; run += 1) {
      const run_id = await api.create({ prompt: 'x', config: { worker_host: 'nobody' } })
      await api.call('POST', `/agent/runs/${run_id}/cancel`)
    }
    const rows = page.getByRole('list', { name: 'Deliveries' }).getByRole('listitem')
    await page.getByRole('button', { name: 'Older deliveries' }).click()
    await rows.nth(51).waitFor()
    assert.equal(await rows.count(), 52)
    await page.getByRole('button', { name: 'Older deliveries' }).waitFor({ state: 'detached' })
    assert.equal(await rows.filter({ hasText: 'run.cancelled' }).count(), 26)
    await rows.first().getByText('Delivered').waitFor()
    await checkAccess(page)

    await page.getByLabel('Address').fill(`http://${receiver.host}/second`)
    await page.getByLabel('Description').fill('The other one')
    await page.getByLabel('run.succeeded').check()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    const said = await api.json<Record<string, unknown>>('GET', `/agent/webhooks/${webhook_id}`)
    assert.deepEqual(
      [said.url, said.description, said.events],
      [`http://${receiver.host}/second`, 'The other one', ['run.created', 'run.succeeded', 'run.cancelled']],
    )
    const before = receiver.received.length
    await rows.first().getByRole('button', { name: 'Send again' }).press('Enter')
    while (receiver.received.length === before) await page.waitForTimeout(50)
    assert.equal(receiver.received.at(-1)?.path, '/second')
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.getByRole('status').filter({ hasText: 'The test arrived: answered 200' }).waitFor()
    await rows.first().getByText('Test').waitFor()
    assert.equal(receiver.received.at(-1)?.event.type, 'webhook.test')
    await checkAccess(page)
    await page.getByRole('button', { name: 'Turn off' }).click()
    await page.getByRole('button', { name: 'Turn on' }).waitFor()
    // What was chosen stays.
    const off = await api.json<Record<string, unknown>>('GET', `/agent/webhooks/${webhook_id}`)
    assert.deepEqual([off.enabled, off.events], [false, said.events])
    await page.getByRole('link', { name: 'Webhooks' }).click()
    const row = page.getByRole('list', { name: 'Webhooks' }).getByRole('listitem')
    await row.filter({ hasText: 'Off' }).filter({ hasText: 'The other one' }).waitFor()
    await checkAccess(page)
    await page.getByRole('link', { name: `${receiver.host}/second` }).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete the webhook' }).click()
    await page.getByText('No webhook yet').waitFor()
    assert.deepEqual(complaints, [])
  })
})
