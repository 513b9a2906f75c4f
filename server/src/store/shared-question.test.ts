import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SharedQuestion } from './shared-question.ts'

/** A question whose answers the test gives. */
function openQuestion() {
  const asked: Array<PromiseWithResolvers<string> & { about: string }> = []
  const question = new SharedQuestion(
    (about: string) => about,
    (about) => {
      const answer = { about, ...Promise.withResolvers<string>() }
      asked.push(answer)
      return answer.promise
    },
  )
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  return { asked, question, settled }
}

test('those who ask while a question is on its way share the next one, not its answer', async () => {
  const { asked, question, settled } = openQuestion()
  const first = question.ask('a')
  const later = [question.ask('a'), question.ask('a'), question.ask('a')]
  assert.equal(asked.length, 1)
  asked[0]?.resolve('old')
  assert.equal(await first, 'old')
  await settled()
  assert.equal(asked.length, 2)
  asked[1]?.resolve('new')
  assert.deepEqual(await Promise.all(later), ['new', 'new', 'new'])
})

test('questions about something else do not wait', async () => {
  const { asked, question } = openQuestion()
  const answers = [question.ask('a'), question.ask('b')]
  assert.deepEqual(
    asked.map(({ about }) => about),
    ['a', 'b'],
  )
  for (const { about, resolve } of asked) resolve(`of ${about}`)
  assert.deepEqual(await Promise.all(answers), ['of a', 'of b'])
})

test('a failed question fails for all who share it, and the next one is still asked', async () => {
  const { asked, question, settled } = openQuestion()
  const first = question.ask('a')
  const next = question.ask('a')
  asked[0]?.reject(new Error('no connection'))
  await assert.rejects(first, /no connection/)
  await settled()
  asked[1]?.resolve('here again')
  assert.equal(await next, 'here again')
  const alone = question.ask('a')
  assert.equal(asked.length, 3)
  asked[2]?.resolve('alone')
  assert.equal(await alone, 'alone')
})

test('a question that hangs holds nobody up: the next is asked when it is late', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { asked, question, settled } = openQuestion()
  const hanging = question.ask('a')
  const next = question.ask('a')
  t.mock.timers.tick(250)
  await settled()
  asked[1]?.resolve('of another connection')
  assert.equal(await next, 'of another connection')
  const after = question.ask('a')
  asked[2]?.resolve('after it')
  assert.equal(await after, 'after it')
  const last = question.ask('a')
  asked[0]?.resolve('at last')
  assert.equal(await hanging, 'at last')
  const behind = question.ask('a')
  assert.equal(asked.length, 4, 'The end of an overtaken question is not the end of the present one.')
  asked[3]?.resolve('last')
  assert.equal(await last, 'last')
  await settled()
  asked[4]?.resolve('behind')
  assert.equal(await behind, 'behind')
})
