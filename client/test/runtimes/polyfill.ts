/**
 * What one does with the library, on a runtime without `fetch`: `polyfill.js MODULE URLS` takes the `fetch` of MODULE and the
 * addresses of four scripts of the fault server, and prints what came.
 */
import process from 'node:process'
import { NotFoundError, Runyard } from '@runyard/client'

const [module = '', urls = '{}'] = process.argv.slice(2)
const { create, list, stream, missing } = JSON.parse(urls) as Record<string, string>
const { default: only, fetch = only } = (await import(module)) as Partial<
  Record<string, typeof globalThis.fetch>
>
if (!fetch) throw new Error(`${module} has no fetch.`)
Reflect.deleteProperty(globalThis, 'fetch')

const connect = (baseURL: string | undefined) => new Runyard({ apiKey: 'ry_test', baseURL, fetch })

const created = await connect(create).runs.create({ prompt: 'x' })
const listed: string[] = []
for await (const run of connect(list).runs.list()) listed.push(run.run_id)
const streamed: string[] = []
for await (const event of connect(stream).runs.stream('r1')) streamed.push(event.type)
const refused = await connect(missing)
  .runs.retrieve('r1')
  .then(
    () => 'nothing',
    (error: unknown) => (error instanceof NotFoundError ? error.message : String(error)),
  )
console.log(JSON.stringify({ created: created.run_id, listed: listed.length, streamed, refused }))
