import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DueReply } from '../store/trigger-replies.ts'
import { wantedOf, writeReply } from './reply-text.ts'

const due: DueReply = {
  delivery_id: 'd1',
  trigger_id: 't1',
  run_id: 'r1',
  thread: { host: 'github.example', repository: 'acme/site', number: 1 },
  attempts: 1,
  tries: 1,
  created_at: new Date(),
  told: null,
  comment_id: null,
  reply: { secret: 'GITHUB', when: 'start_and_end' },
  editor_id: 'u1',
  editor_disabled: false,
  trigger_scope: 'Team',
  state: 'SUCCEEDED',
  execution: 1,
  status_message: null,
  end: { sequence: 9, state: 'SUCCEEDED' },
  last_sequence: 9,
  after_sequence: 0,
}
const push = {
  ...{ artifact_uid: 'a1', directory: 'site', repository: 'acme/site', branch: 'b', commit: 'c' },
  ...{ url: 'https://github.example/acme/site/tree/b' },
}
const write = (answer: string): string => writeReply(due, { link: 'L', answer, pushes: [push] })

test('links stand outside of a block of code that the agent left open', () => {
  const link = `\n\n- Branch [b](${push.url}) in acme/site`
  for (const [said, written] of [
    ['```sh\nmake', '```sh\nmake\n```'],
    ['~~~~\n```\n~~~', '~~~~\n```\n~~~\n~~~~'],
    ['```\nmake\n```', '```\nmake\n```'],
  ] as const)
    assert.equal(write(said), `<!-- runyard:d1 -->\nRunyard is [done](L).\n\n${written}${link}`)
})

test('an answer is cut before GitHub would refuse it', () => {
  assert(write('x'.repeat(100_000)).length < 65_536)
})

test('a run that goes on after a question has another thing to say', () => {
  const asks = { ...due, end: null, state: 'BLOCKED', last_sequence: 4 } as const
  const later = { ...asks, last_sequence: 8 } as const
  const works = { ...asks, state: 'INPROGRESS' } as const
  assert.equal(new Set([asks, later, works, due].map(wantedOf)).size, 4)
  const at_end = { ...works, reply: { secret: 'GITHUB', when: 'end' } } as const
  assert.equal(wantedOf(at_end), null)
  assert.equal(wantedOf({ ...at_end, told: 'blocked 4' }), 'working', 'What it asked is answered.')
})
