/** Several runs of one conversation: each has its own log and what the conversation held when it was created, and no more. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Conversation } from '../src/contract/conversation.ts'
import { until } from './support/cluster.ts'
import { NOBODY, onEitherService } from './support/each-service.ts'
import { PIXEL } from './support/good-requests.ts'
import { shell } from './support/service.ts'
import { ofType, printed } from './support/traces.ts'

/** The link works without a key. */
const follow302 = (answer: Response): Promise<Response> => {
  assert.equal(answer.status, 302)
  return fetch(answer.headers.get('location') ?? '')
}

onEitherService('a conversation', (service) => {
  const follow = (run_id: string, message: string) =>
    service().admin.json('POST', `/agent/runs/${run_id}/followups`, { message })
  const working = (run_id: string) =>
    until('the step', async () => ofType(await service().admin.events(run_id), 'tool.output').length > 0)

  test('a follow-up is acted on though a newer run of the conversation has ended', async () => {
    const { admin } = service()
    const older = await admin.create({ prompt: shell('echo older') })
    const { conversation_id } = await admin.ended(older)
    const newer = await admin.create({ prompt: shell('echo newer'), conversation_id })
    await admin.ended(newer)
    await follow(older, shell('echo again'))
    const run = await admin.ended(older)
    assert.deepEqual([run.state, run.execution], ['SUCCEEDED', 2])
    assert.equal(printed(await admin.events(older)), 'older\nagain\n')
    assert.equal(printed(await admin.events(newer)), 'newer\n')
  })

  test('a conversation goes on in another run', async () => {
    const { admin } = service()
    const first = await admin.create({ prompt: `Begin.\n${shell('echo one')}` })
    const { conversation_id } = await admin.ended(first)
    const second = await admin.create({ prompt: shell('echo two; exit 4'), conversation_id })
    assert.equal((await admin.ended(second)).conversation_id, conversation_id)
    const child = await admin.create({ prompt: 'Below.', parent_run_id: second })
    const { run_ids, steps } = await admin.json<Conversation>('GET', `/agent/runs/${second}/conversation`)
    assert.deepEqual(run_ids, [first, second])
    assert.deepEqual(
      steps.map((step) => [step.id, step.steps.map(({ id }) => id)]),
      [
        [`${conversation_id}:1`, []],
        [`${conversation_id}:2`, [child]],
      ],
    )
    const told = steps.map(({ messages }) =>
      messages.flatMap(({ role, content }) =>
        content.flatMap((block) => {
          if (block.type === 'text') return [[role, block.text]]
          if (block.type === 'action') return [[role, block.name, block.input.command]]
          return block.type === 'action_result'
            ? [[role, block.output.text, block.state, block.output.exit_code]]
            : []
        }),
      ),
    )
    assert.deepEqual(told, [
      [
        ['user', `Begin.\n${shell('echo one')}`],
        ['assistant', 'Begin.'],
        ['assistant', 'bash', 'echo one'],
        ['tool', 'one\n', 'completed', 0],
      ],
      [
        ['user', shell('echo two; exit 4')],
        ['assistant', 'bash', 'echo two; exit 4'],
        ['tool', 'two\n', 'failed', 4],
      ],
    ])
  })

  test('has the runs below it nested, as far as the caller may see them', async () => {
    const { admin, other } = service()
    const IDLE = { config: { worker_host: NOBODY } }
    const parent = await admin.create({ prompt: 'parent', ...IDLE })
    const below = (parent_run_id: string, title: string, more = {}) =>
      admin.create({ prompt: `prompt of ${title}`, title, parent_run_id, ...IDLE, ...more })
    const one = await below(parent, 'one')
    const two = await below(one, 'two')
    await below(parent, 'hidden', { team: false })
    await below(parent, 'same', { conversation_id: parent })
    let deepest = two
    for (const title of ['three', 'four', 'five', 'six']) deepest = await below(deepest, title)
    const whole = await other.json<Conversation>('GET', `/agent/conversations/${parent}`)
    const titles: string[] = []
    for (let [step] = whole.steps; step?.steps.length; [step] = step.steps[0]?.steps ?? []) {
      assert.equal(step.steps.length, 1)
      titles.push(step.steps[0]?.description ?? '')
    }
    assert.deepEqual(titles, ['one', 'two', 'three', 'four', 'five'])
    const [child] = whole.steps[0]?.steps ?? []
    assert.deepEqual(
      [child?.id, child?.run],
      [
        one,
        {
          ...{ run_id: one, parent_run_id: parent, conversation_id: one, state: 'QUEUED' },
          page_info: { has_next_page: false },
        },
      ],
    )
    const [own] = (await admin.json<Conversation>('GET', `/agent/conversations/${one}`)).steps
    assert.deepEqual([child?.steps[0]?.id, child?.steps[0]?.messages], [own?.id, own?.messages])
    assert.match(JSON.stringify(child?.steps), /prompt of one/)
    const last = await admin.json<Conversation>('GET', `/agent/conversations/${deepest}`)
    assert.deepEqual(last.steps[0]?.steps, [])
    const seen = (await admin.json<Conversation>('GET', `/agent/runs/${parent}/conversation`)).steps[0]
    assert.deepEqual(
      seen?.steps.map(({ description }) => description),
      ['one', 'hidden'],
    )
    // What would be too much is named, and left to be read by itself.
    const large = await admin.create({ prompt: 'large', ...IDLE })
    for (const title of ['a', 'b', 'c']) await below(large, title, { prompt: title.repeat(600_000) })
    const { steps } = await admin.json<Conversation>('GET', `/agent/conversations/${large}`)
    assert.deepEqual(
      steps[0]?.steps.map(({ steps, run }) => [steps.length, run?.page_info.has_next_page]),
      [
        [1, false],
        [0, true],
        [0, true],
      ],
    )
  })

  test('is read by its id as by any of its runs, and says where it goes on', async () => {
    const { admin, other } = service()
    const run_id = await admin.create({ prompt: shell('until [ -e go ]; do sleep 0.1; done') })
    const run = await admin.until(run_id, ({ state }) => state === 'INPROGRESS')
    const path = `/agent/conversations/${run.conversation_id}`
    const redirects = async (api = admin) => [
      await api.json('GET', `${path}/redirect`),
      await api.json('GET', `/agent/sessions/${run.session_id}/redirect`),
    ]
    assert.deepEqual(await redirects(other), [{ session_id: run.session_id }, {}])
    await admin.json('POST', `/agent/runs/${run_id}/cancel`)
    await admin.ended(run_id)
    assert.deepEqual(await redirects(), [{}, { conversation_id: run.conversation_id }])
    const whole = await admin.json('GET', path)
    assert.deepEqual(whole, await admin.json('GET', `/agent/runs/${run_id}/conversation`))
    const personal = await admin.create({ prompt: 'x', team: false, config: { worker_host: NOBODY } })
    const { conversation_id } = await admin.get(personal)
    assert.equal((await other.call('GET', `/agent/conversations/${conversation_id}`)).status, 404)
    assert.equal((await admin.call('GET', '/agent/conversations/none')).status, 404)
  })

  test('takes messages and interrupts for its newest run, and gives its transcript', async () => {
    const { admin, other } = service()
    const IDLE = { config: { worker_host: NOBODY } }
    const first = await admin.create({ prompt: 'first', ...IDLE })
    const path = `/agent/conversations/${first}`
    const second = await admin.create({ prompt: 'second', conversation_id: first, ...IDLE })
    // It is not the newest that everybody may see.
    const hidden = { prompt: 'hidden', conversation_id: first, team: false, ...IDLE }
    const newest = await admin.create(hidden)
    const send = (api = admin) => api.json<object>('POST', `${path}/followups`, { message: 'Go on.' })
    const { followup_id, ...accepted } = (await send(other)) as { followup_id: string }
    assert.deepEqual(accepted, { run_id: second, outcome: 'queued_prompt' })
    const [event] = ofType(await admin.events(second), 'followup.accepted')
    assert.equal(event?.data.followup_id, followup_id)
    assert.equal(((await send()) as { run_id: string }).run_id, newest)
    // Nothing is at work in it, and the answer is about the run.
    const refused = await other.call('POST', `${path}/interrupt`, {})
    assert.equal(refused.status, 409)
    const lines = async (api = admin) => {
      const text = await (await follow302(await api.call('GET', `${path}/transcript`))).text()
      return text.split('\n').flatMap((line) => (line ? [JSON.parse(line) as { run_id: string }] : []))
    }
    const runsOf = async (api = admin) => [...new Set((await lines(api)).map(({ run_id }) => run_id))]
    assert.deepEqual(await runsOf(), [first, second, newest])
    assert.deepEqual(await runsOf(other), [first, second])
    assert.deepEqual(await lines(other), [...(await admin.events(first)), ...(await admin.events(second))])
  })

  test('gives its screenshots, and no other files', async () => {
    const { admin } = service()
    const run_id = await admin.create({
      prompt: shell(
        `mkdir -p artifacts; echo x > artifacts/x.txt; base64 -d <<< ${PIXEL.toString('base64')} > artifacts/a.png`,
      ),
    })
    const { artifacts } = await admin.ended(run_id)
    const uidOf = (type: string) =>
      artifacts.flatMap(({ artifact_type, data }) =>
        artifact_type === type && 'artifact_uid' in data ? [data.artifact_uid] : [],
      )[0]
    const ask = (id: string, uid = '') =>
      admin.call('GET', `/agent/conversations/${id}/screenshots/${uid}/download`)
    const picture = await follow302(await ask(run_id, uidOf('SCREENSHOT')))
    assert.equal(picture.headers.get('content-type'), 'image/png')
    assert.deepEqual(Buffer.from(await picture.arrayBuffer()), PIXEL)
    assert.equal((await ask(run_id, uidOf('FILE'))).status, 404)
    const elsewhere = await admin.create({ prompt: 'x', config: { worker_host: NOBODY } })
    assert.equal((await ask(elsewhere, uidOf('SCREENSHOT'))).status, 404)
  })

  test('two live runs never touch each other', async () => {
    const { admin } = service()
    const steps = (name: string, wait: string) =>
      `${shell(`echo ${name} one; ${wait}`)}\n${shell(`echo ${name} two`)}`
    const older = await admin.create({ prompt: steps('older', 'until [ -e go ]; do sleep 0.1; done') })
    await working(older)
    const { conversation_id } = await admin.get(older)
    const newer = await admin.create({ prompt: steps('newer', 'true'), conversation_id })
    assert.equal((await admin.ended(newer)).state, 'SUCCEEDED')
    assert.equal(printed(await admin.events(newer)), 'newer one\nnewer two\n')
    // The older one still is in its first step, and goes on by itself.
    assert.equal((await admin.get(older)).state, 'INPROGRESS')
    assert.equal(ofType(await admin.events(older), 'tool.result').length, 0)
    await admin.json('POST', `/agent/runs/${older}/followups`, {
      message: shell('echo older three'),
      on_busy: 'interrupt',
    })
    assert.equal((await admin.ended(older)).state, 'SUCCEEDED')
    assert.equal(printed(await admin.events(older)), 'older one\nolder three\n')
  })
})
