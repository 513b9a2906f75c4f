/** What chats and mailboxes are sent: what agents and strangers wrote stays text. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WebhookEvent } from '../contract/webhook.ts'
import { CHATS } from './chat-text.ts'
import { writeLetter } from './letter.ts'
import { messageOf } from './message.ts'

const eventOf = (type: WebhookEvent['type'], more: Partial<WebhookEvent['data']> = {}): WebhookEvent => ({
  type,
  timestamp: '2026-11-24T09:17:41.093Z',
  data: {
    ...{ run_id: 'r1', state: 'SUCCEEDED', source: 'API', title: 'Fix the\nlogin test' },
    ...{
      link: 'https://runs.example/sessions/r1',
      creator: { uid: 'u1', type: 'user', display_name: 'Lena' },
    },
    ...more,
  },
})

const ENDED = eventOf('run.succeeded', {
  result: 'It waits for the cookie now.',
  changes: { files_changed: 2, additions: 12, deletions: 3 },
  pull_requests: [{ url: 'https://github.com/acme/site/pull/7', number: 7, repository: 'acme/site' }],
})
/** What somebody puts into an issue for an agent to repeat. */
const EVIL =
  '<!channel> <@U1> @everyone @here [bank](https://evil.example) <https://evil.example|ours> **x** & `y`</p><script>'
const hostile = messageOf(eventOf('run.failed', { title: EVIL, message: `${EVIL}?`, result: `${EVIL}!` }))

test('a message says what happened, to which run, and what there is to see', () => {
  const { headline, title, facts, pulls } = messageOf(ENDED)
  assert.deepEqual([headline, title], ['Done', 'Fix the login test'])
  assert.deepEqual(facts, ['+12 −3 in 2 files', 'Asked for by Lena'])
  assert.deepEqual(pulls, [{ url: 'https://github.com/acme/site/pull/7', label: 'acme/site#7' }])
  for (const [type, data, begins] of [
    ['run.blocked', { message: 'Which one?', waits_for: 'answer' }, 'Needs you'],
    ['run.failed', { error_code: 'environment_setup_failed' }, 'Needs you'],
    ['run.failed', {}, 'Failed'],
    ['run.cancelled', {}, 'Cancelled'],
    ['webhook.test', {}, 'Test'],
  ] as const)
    assert.equal(messageOf(eventOf(type, data)).headline, begins)
})

test('a question that the agent has just asked is not asked twice', () => {
  const asked = { message: 'Which one?', result: 'There are two. Which one?' }
  assert.deepEqual(
    [messageOf(eventOf('run.blocked', asked)).why, messageOf(eventOf('run.blocked', asked)).said],
    [null, asked.result],
  )
})

test('Slack gets rich text: links of ours alone, and nothing that was said is markup', () => {
  interface Element {
    type: string
    url?: string
    text?: string
    elements?: Element[]
  }
  const elementsOf = (message: object): Element[] =>
    (message as { blocks: Array<{ elements: Element[] }> }).blocks.flatMap(({ elements }) =>
      elements.flatMap(({ elements: inner = [] }) => inner),
    )
  const { text } = CHATS.slack(messageOf(ENDED)) as { text: string }
  assert.equal(text, 'Done: Fix the login test')
  assert.deepEqual(
    elementsOf(CHATS.slack(messageOf(ENDED))).flatMap(({ text: said = '' }) => said.trim() || []),
    [
      ...['Done:', 'Fix the login test', 'It waits for the cookie now.', 'acme/site#7'],
      '+12 −3 in 2 files · Asked for by Lena',
    ],
  )
  const evil = CHATS.slack(hostile)
  assert.deepEqual(
    elementsOf(evil).flatMap(({ url }) => url ?? []),
    ['https://runs.example/sessions/r1'],
  )
  assert(elementsOf(evil).some(({ type, text: said }) => type === 'text' && said === `${EVIL}!`))
  assert.match((evil as { text: string }).text, /&lt;!channel&gt; &lt;@U1&gt;/)
  const odd = [{ url: 'javascript:alert(1)', number: 1, repository: 'a/b' }]
  assert.deepEqual(messageOf(eventOf('run.succeeded', { pull_requests: odd })).pulls, [])
})

test('Discord mentions nobody, and reads no Markdown in what was said', () => {
  const { embeds, allowed_mentions } = CHATS.discord(hostile) as {
    embeds: Array<{ title: string; description: string; url: string }>
    allowed_mentions: object
  }
  assert.deepEqual(allowed_mentions, { parse: [] })
  const [{ title, description, url } = assert.fail()] = embeds
  assert.equal(url, 'https://runs.example/sessions/r1')
  assert.match(description, /\\\[bank\\\]\\\(https\\:\/\/evil\.example\\\)/)
  assert.match(description, /\\\*\\\*x\\\*\\\*/)
  assert(title.length <= 256)
  const long = CHATS.discord(
    messageOf(eventOf('run.failed', { title: '*'.repeat(512), result: '*'.repeat(3_000) })),
  )
  const [embed] = (long as { embeds: Array<{ title: string; description: string }> }).embeds
  assert.deepEqual(
    [(embed?.title.length ?? 999) <= 256, (embed?.description.length ?? 9_999) <= 4_096],
    [true, true],
  )
})

test('Teams gets a card whose texts are read as they are', () => {
  const card = CHATS.teams(hostile) as {
    type: string
    attachments: Array<{
      contentType: string
      content: {
        body: Array<{ type: string; inlines: Array<{ text: string }> }>
        actions: Array<{ url: string }>
      }
    }>
  }
  assert.equal(card.attachments[0]?.contentType, 'application/vnd.microsoft.card.adaptive')
  const { body, actions } = card.attachments[0]?.content ?? assert.fail()
  assert(body.every(({ type }) => type === 'RichTextBlock'))
  assert.equal(body[1]?.inlines[0]?.text, `${EVIL}?`)
  assert.deepEqual(
    actions.map(({ url }) => url),
    ['https://runs.example/sessions/r1'],
  )
})

test('a letter holds the same as text and as HTML, and says where it is turned off', () => {
  const page = 'https://runs.example/webhooks/w1'
  const { subject, text, html } = writeLetter(messageOf(ENDED), { page, set_up_by: 'Lena' })
  assert.equal(subject, 'Done: Fix the login test')
  for (const part of [text, html]) {
    assert.match(part, /It waits for the cookie now\./)
    assert.match(part, /https:\/\/github\.com\/acme\/site\/pull\/7/)
    assert(part.includes(page) && part.includes('Lena set up these messages.'))
  }
  const evil = writeLetter(hostile, { page, set_up_by: '<b>' })
  assert.doesNotMatch(evil.html, /<script|<b>|<!channel/)
  assert.deepEqual(evil.html.match(/href="[^"]*"/g), [
    'href="https://runs.example/sessions/r1"',
    `href="${page}"`,
  ])
  assert.doesNotMatch(evil.subject, /\n/)
  const footer = '-- \nLena set up these messages. Turn them off: https://evil.example'
  const forged = messageOf(eventOf('run.succeeded', { result: `Done.\r\n${footer}` }))
  const { text: plain } = writeLetter(forged, { page: null, set_up_by: 'Lena' })
  assert.deepEqual(
    plain.split('\n').filter((line) => line.includes('Lena set up')),
    [
      '> Lena set up these messages. Turn them off: https://evil.example',
      'Lena set up these messages. Only Lena can turn them off.',
    ],
  )
})
