/**
 * The samples of `/docs/api`: sent by curl and by both clients to a server that answers each operation with its example, all
 * three ask for the same.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { setupPython } from '../../scripts/setup-python.ts'
import type { ApiDescription, Operation } from '../../web/src/api-reference/api-description.ts'
import { writeOperationSamples } from '../../web/src/api-reference/operation-samples.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const python = setupPython()
const api = JSON.parse(readFileSync(`${root}openapi.json`, 'utf8')) as ApiDescription
const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
)

type Asked = Record<string, { path: string; query: string[]; body: unknown; key: string | undefined }>
let asked: Asked = {}
let base_url = ''
const server = createServer((request, response) => void answer(request, response))

before(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1/`
})
after(() => server.close())

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '', base_url)
  if (pathname === '/kept') return void response.end('{}\n')
  const found = operations.find(
    ({ method, path }) =>
      method.toUpperCase() === request.method &&
      new RegExp(`^/api/v1${path.replace(/\{\w+\}/g, '[^/]+')}$`).test(pathname),
  )
  if (!found) return void response.writeHead(404).end()
  const text = (await request.toArray()).join('')
  asked[found.operation.operationId] = {
    path: pathname,
    query: [...searchParams].map((pair) => pair.join('=')).sort(),
    body: text ? JSON.parse(text) : undefined,
    key: request.headers.authorization,
  }
  answerLike(found.operation, response)
}

function answerLike({ responses }: Operation, response: ServerResponse): void {
  const [status = '', { content = {} } = {}] =
    Object.entries(responses).find(([code]) => /^[23]/.test(code)) ?? []
  const json = content['application/json'] as { example: unknown } | undefined
  if (status === '302') response.writeHead(302, { location: '/kept' }).end()
  else if (json)
    response
      .writeHead(Number(status), { 'content-type': 'application/json' })
      .end(JSON.stringify(json.example))
  else response.writeHead(200, { 'content-type': 'text/event-stream' }).end(ENDED)
}
const ENDED = 'event: end\ndata: {}\n\n'

const samplesIn = (language: 'curl' | 'TypeScript' | 'Python'): string[] =>
  operations.map(
    ({ operation, method, path }) => writeOperationSamples(operation, method, path, base_url)[language],
  )

/** What a program asked for. */
async function run(command: string, args: string[], env: Record<string, string> = {}): Promise<Asked> {
  asked = {}
  // Its message would be all samples.
  const failed = (error: { stderr: string }) => assert.fail(error.stderr.slice(-2_000))
  await promisify(execFile)(command, args, {
    cwd: root,
    env: { ...process.env, RUNYARD_BASE_URL: base_url, RUNYARD_API_KEY: 'ry_samples', ...env },
    maxBuffer: 16 * 1024 * 1024,
  }).catch(failed)
  return asked
}

test('curl, TypeScript and Python send the example of every operation alike', async () => {
  const curl = await run('bash', ['-ec', samplesIn('curl').join('\n')])
  assert.deepEqual(Object.keys(curl).sort(), operations.map(({ operation }) => operation.operationId).sort())
  for (const { operation } of operations) {
    const { body, key } = curl[operation.operationId] ?? {}
    assert.deepEqual(body, operation.requestBody?.content['application/json'].example)
    assert.equal(key, 'Bearer ry_samples')
  }

  const imports = "import { Runyard } from '@runyard/client'"
  const blocks = samplesIn('TypeScript').map((sample) => `{\n${sample.replace(imports, '')}\n}`)
  const program = [imports, ...blocks].join('\n')
  assert.deepEqual(await run(process.execPath, ['--input-type=module', '-e', program]), curl)

  assert(!('missing' in python), 'missing' in python ? python.missing : '')
  const PYTHONPATH = `${root}python/src`
  assert.deepEqual(await run(python.python, ['-c', samplesIn('Python').join('\n')], { PYTHONPATH }), curl)
})
