import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newTasks, tasksOf } from './new-tasks.ts'

const asking = (run_id: string, message: string, execution = 1) => ({
  ...{ run_id, title: 'A run', state: 'BLOCKED' as const, artifacts: [], execution },
  status_message: { message, waits_for: 'answer' as const },
})

test('the same question is told once, and the next one of the same run again', () => {
  const before = tasksOf([asking('a', 'Which?')])
  assert.deepEqual(
    before.map(({ run_id, words, title }) => [run_id, words, title]),
    [['a', 'Answer', 'A run']],
  )
  assert.deepEqual(newTasks(before, tasksOf([asking('a', 'Which?')])), [])
  const found = (now: Parameters<typeof tasksOf>[0]) =>
    newTasks(before, tasksOf(now)).map(({ run_id }) => run_id)
  assert.deepEqual(found([asking('a', 'Which?'), asking('b', 'Which?')]), ['b'])
  assert.deepEqual(found([asking('a', 'And now?')]), ['a'])
  assert.deepEqual(found([asking('a', 'Which?', 2)]), ['a'])
  assert.deepEqual(found([{ ...asking('c', ''), state: 'SUCCEEDED' as const }]), [])
})
