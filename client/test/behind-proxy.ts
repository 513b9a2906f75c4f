/**
 * The cases that go through a proxy, in a process whose environment names one: Node reads it at its start only.
 *
 *     NODE_USE_ENV_PROXY=1 HTTP_PROXY=URL NO_PROXY=127.0.0.1 node client/test/behind-proxy.ts URL
 */
import * as library from '../src/index.ts'
import { loadTable, runBehaviour } from './behaviour.ts'

const [, , url = ''] = process.argv
const table = (await loadTable(url)).filter(({ call }) => call.proxy)
console.log(JSON.stringify(await runBehaviour({ library, table, url, runtime: 'node', proxy: () => ({}) })))
