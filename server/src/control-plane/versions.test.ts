import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeVersion } from './versions.ts'

test('a worker one minor version older or newer works, others are told what to install', () => {
  for (const worker of ['1.4.0', '1.5.2', '1.3.9', '1.4.0-rc.1'])
    assert.equal(judgeVersion(worker, '1.4.7'), null)
  for (const worker of ['1.2.0', '1.6.0', '2.4.0', '0.4.0', 'none', ''])
    assert.match(judgeVersion(worker, '1.4.7') ?? '', /Install runyard@1\.4\.7 on the worker's machine/)
})
