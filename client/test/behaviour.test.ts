import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { after, describe, test } from 'node:test'
import { promisify } from 'node:util'
import * as library from '../src/index.ts'
import { loadTable, type Outcome, runCase, type Setup, selectCases } from './behaviour.ts'

const pathOf = (file: string): string => new URL(file, import.meta.url).pathname

const server = spawn(process.execPath, [pathOf('fault-server.ts')], { stdio: ['pipe', 'pipe', 'inherit'] })
after(() => server.stdin.end())
const [line] = (await once(createInterface(server.stdout), 'line')) as [string]
const { url } = JSON.parse(line) as { url: string }

const setup: Setup = { library, table: await loadTable(url), url, runtime: 'node' }

describe('behaviour', { concurrency: 8 }, () => {
  for (const one of selectCases(setup)) test(one.name, () => runCase(setup, one))
})

test('behaviour behind a proxy', async () => {
  const env = { ...process.env, NODE_USE_ENV_PROXY: '1', HTTP_PROXY: url, NO_PROXY: '127.0.0.1' }
  const { stdout } = await promisify(execFile)(process.execPath, [pathOf('behind-proxy.ts'), url], { env })
  const outcomes = JSON.parse(stdout) as Outcome[]
  assert.ok(outcomes.length > 0)
  assert.deepEqual(
    outcomes.filter(({ ok }) => !ok),
    [],
  )
})
