import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pool } from '@runyard/client'
import { sayLoad, sayProspect, sayWorkers } from './pool-words.ts'

const IDLE: Pool = {
  ...{ name: 'gpu', is_default: false, restricted: false, workers: 2, workers_ready: 2 },
  ...{ slots: 8, slots_busy: 0, queued_runs: 0 },
}
const UNSERVED: Pool = { ...IDLE, workers: 0, workers_ready: 0, slots: 0, queued_runs: 1 }

test('workers are counted, and those that take nothing are told from the others', () => {
  assert.equal(sayWorkers(UNSERVED), 'no workers')
  assert.equal(sayWorkers({ workers: 1, workers_ready: 1 }), '1 worker ready')
  assert.equal(sayWorkers(IDLE), '2 workers ready')
  assert.equal(sayWorkers({ workers: 1, workers_ready: 0 }), '0 of 1 worker ready')
})

test('slots and runs that wait are said where there are any', () => {
  assert.equal(sayLoad(IDLE), '0 of 8 slots busy')
  assert.equal(sayLoad({ ...IDLE, slots_busy: 8, queued_runs: 3 }), '8 of 8 slots busy · 3 runs wait')
  // A worker that stops still holds three.
  assert.equal(sayLoad({ ...IDLE, slots: 0, slots_busy: 3 }), '3 slots busy')
  assert.equal(sayLoad(UNSERVED), '1 run waits')
  assert.equal(sayLoad({ ...UNSERVED, queued_runs: 0 }), '')
})

test('a name that nobody serves is no mistake, but said', () => {
  assert.equal(sayProspect('gpu', IDLE), 'gpu: 2 workers ready.')
  assert.equal(sayProspect('gpu', { ...IDLE, queued_runs: 3 }), 'gpu: 2 workers ready, 3 runs wait.')
  assert.equal(sayProspect('gpu', UNSERVED), 'gpu has no workers: runs wait for one.')
  assert.equal(sayProspect('gpu', undefined), 'gpu has no workers that you can see: runs wait for one.')
})
