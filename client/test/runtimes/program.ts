/** The cases on Node, Deno and Bun: `program.js FAULT_SERVER RUNTIME` prints the outcomes as one line of JSON. */
import process from 'node:process'
import { runCases } from './cases.ts'
import { loadProxy } from './proxy.ts'

const [url = '', runtime] = process.argv.slice(2)
if (runtime !== 'node' && runtime !== 'deno' && runtime !== 'bun') throw new Error(`What is ${runtime}?`)
const outcomes = await runCases({ url, runtime, proxy: await loadProxy(runtime) })
process.stdout.write(`${JSON.stringify(outcomes)}\n`, () => process.exit())
