import { after, describe, test } from 'node:test'
import * as library from '../src/index.ts'
import { loadTable, runCase, selectCases } from './behaviour.ts'
import { startFaultServer } from './fault-process.ts'

const server = await startFaultServer()
after(() => server.stop())
const { url } = server
const setup = { library, table: await loadTable(url), url, runtime: 'node', long: true } as const

describe('behaviour that takes a minute', { concurrency: 8 }, () => {
  for (const one of selectCases(setup)) test(one.name, () => runCase(setup, one))
})
