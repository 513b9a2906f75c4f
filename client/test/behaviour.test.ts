import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { LONG } from '../../server/test/support/once.ts'
import * as library from '../src/index.ts'
import { type Case, type Outcome, runCase, type Setup, selectCases } from './behaviour.ts'
import { readTable } from './behaviour-table.ts'
import { type FaultProcess, startFaultServer } from './fault-process.ts'

const BEHIND_PROXY = fileURLToPath(new URL('behind-proxy.ts', import.meta.url))

let server: FaultProcess
before(async () => {
  server = await startFaultServer()
})
after(() => server.stop())
// Two cases cut a stream at every byte, a thousand times, which costs more than all others; the fifths come to every place of a line.
const setup: Omit<Setup, 'url'> = {
  library,
  table: readTable() as unknown[] as Case[],
  runtime: 'node',
  cut_step: LONG ? 1 : 5,
}

describe('behaviour', { concurrency: 8 }, () => {
  for (const one of selectCases(setup)) test(one.name, () => runCase({ ...setup, url: server.url }, one))
})

test('behaviour behind a proxy', async () => {
  const { url } = server
  const env = { ...process.env, NODE_USE_ENV_PROXY: '1', HTTP_PROXY: url, NO_PROXY: '127.0.0.1' }
  const { stdout } = await promisify(execFile)(process.execPath, [BEHIND_PROXY, url], { env })
  const outcomes = JSON.parse(stdout) as Outcome[]
  assert.ok(outcomes.length > 0)
  assert.deepEqual(
    outcomes.filter(({ ok }) => !ok),
    [],
  )
})
