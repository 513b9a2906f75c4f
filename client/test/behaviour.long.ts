import { after, before, describe, test } from 'node:test'
import * as library from '../src/index.ts'
import { type Case, runCase, type Setup, selectCases } from './behaviour.ts'
import { readTable } from './behaviour-table.ts'
import { type FaultProcess, startFaultServer } from './fault-process.ts'

let server: FaultProcess
before(async () => {
  server = await startFaultServer()
})
after(() => server.stop())
const table = readTable() as unknown[] as Case[]
const setup: Omit<Setup, 'url'> = { library, table, runtime: 'node', long: true }

describe('behaviour that takes a minute', { concurrency: 8 }, () => {
  for (const one of selectCases(setup)) test(one.name, () => runCase({ ...setup, url: server.url }, one))
})
