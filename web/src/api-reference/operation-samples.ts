import { toPythonArguments } from '../samples/python-literal.ts'
import { quoteForShell } from '../samples/shell-word.ts'
import { toTypeScript } from '../samples/typescript-literal.ts'
import type { Operation } from './api-description.ts'

/** The example of an operation, to be sent in three ways. */
export function writeOperationSamples(
  operation: Operation,
  method: string,
  path: string,
  base_url: string,
): Record<'curl' | 'TypeScript' | 'Python', string> {
  const call = readCall(operation, method, path)
  return { curl: writeCurl(call, base_url), TypeScript: writeTypeScript(call), Python: writePython(call) }
}

interface Call {
  method: string
  /** Filled in, below the base address. */
  path: string
  path_values: string[]
  query: Record<string, unknown>
  body: object | undefined
  client_method: string | undefined
  /** Its answer is gone through, item by item. */
  is_iterated: boolean
  is_stream: boolean
  is_redirect: boolean
}

function readCall(operation: Operation, method: string, path: string): Call {
  const examplesIn = (place: string) =>
    (operation.parameters ?? []).filter((parameter) => parameter.in === place && 'example' in parameter)
  const inPath = examplesIn('path').map(({ name, example }) => [name, String(example)] as const)
  const is_stream = !(
    'application/json' in (operation.responses['200']?.content ?? { 'application/json': {} })
  )
  return {
    method: method.toUpperCase(),
    path: inPath.reduce(
      (filled, [name, value]) => filled.replace(`{${name}}`, encodeURIComponent(value)),
      path,
    ),
    path_values: inPath.map(([, value]) => value),
    query: Object.fromEntries(examplesIn('query').map(({ name, example }) => [name, example])),
    body: operation.requestBody?.content['application/json'].example as object | undefined,
    client_method: operation['x-client-method'],
    is_iterated:
      operation['x-client-method'] !== undefined && (is_stream || operation['x-pagination'] !== undefined),
    is_stream,
    is_redirect: '302' in operation.responses,
  }
}

function writeCurl({ method, path, query, body, is_stream, is_redirect }: Call, base_url: string): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((item): [string, string] => [name, String(item)]),
  )
  const search = pairs.length > 0 ? `?${new URLSearchParams(pairs)}` : ''
  const implied = body === undefined ? 'GET' : 'POST'
  const head = [
    'curl -sS',
    is_stream ? '-N' : '',
    is_redirect ? '-L' : '',
    method === implied ? '' : `-X ${method}`,
  ]
  return [
    `${head.filter(Boolean).join(' ')} ${quoteForShell(`${base_url}${path.slice(1)}${search}`)}`,
    '-H "Authorization: Bearer $RUNYARD_API_KEY"',
    ...(is_stream ? ['-H "Accept: text/event-stream"'] : []),
    ...(body === undefined
      ? []
      : ['-H "Content-Type: application/json"', `-d ${quoteForShell(JSON.stringify(body, null, 2))}`]),
  ].join(' \\\n  ')
}

function writeTypeScript(call: Call): string {
  const { method, path, path_values, query, body, client_method, is_iterated } = call
  const named = { ...query, ...body }
  const values = client_method
    ? [...path_values, ...(Object.keys(named).length > 0 ? [named] : [])]
    : [path, ...(body === undefined ? [] : [{ body }])]
  const called = `client.${client_method ?? method.toLowerCase()}(${values.map(toTypeScript).join(', ')})`
  const use = is_iterated
    ? `for await (const item of ${called}) {\n  console.log(item)\n}`
    : `console.log(await ${called})`
  return `import { Runyard } from '@runyard/client'\n\nconst client = new Runyard()\n${use}`
}

function writePython(call: Call): string {
  const { method, path, path_values, query, body, client_method, is_iterated } = call
  const named = client_method ? { ...query, ...body } : body === undefined ? {} : { body }
  const name = (client_method ?? method.toLowerCase()).replace(
    /[A-Z]/g,
    (letter) => `_${letter.toLowerCase()}`,
  )
  const called = `client.${name}(${toPythonArguments(client_method ? path_values : [path], named)})`
  const use = is_iterated ? `for item in ${called}:\n    print(item)` : `print(${called})`
  return `from runyard import Runyard\n\nclient = Runyard()\n${use}`
}
