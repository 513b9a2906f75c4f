/** A thread of its own: says whether a filter is one, or whether it lets something through. */
import { parentPort } from 'node:worker_threads'
import { Environment, EvaluationError, TypeError as FilterTypeError, ParseError } from '@marcbachmann/cel-js'
import type { FilterAnswer, FilterQuestion } from './check-filter.ts'

const environment = new Environment({ enableOptionalTypes: true })
  .registerVariable('payload', 'dyn')
  .registerVariable('headers', 'map<string, string>')

parentPort?.once('message', (question: FilterQuestion) => parentPort?.postMessage(answer(question)))
parentPort?.postMessage('ready')

function answer({ filter, about }: FilterQuestion): FilterAnswer {
  const refuse = (wrong: string): FilterAnswer => ({ passes: false, wrong })
  try {
    const expression = environment.parse(filter)
    const { error, type } = expression.check()
    if (error) return refuse(describe(error, filter))
    if (type !== 'bool' && type !== 'dyn') return refuse(`It must say true or false, and is of type ${type}.`)
    if (!about) return { passes: false, wrong: null }
    const said: unknown = expression({ payload: asCel(about.payload), headers: about.headers })
    if (typeof said === 'boolean') return { passes: said, wrong: null }
    return refuse('It said neither true nor false.')
  } catch (error) {
    return refuse(describe(error, filter))
  }
}

/** Whole numbers are CEL's `int`, so that what is written `1` in a filter can be added to them. */
function asCel(value: unknown): unknown {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value
  if (Array.isArray(value)) return value.map(asCel)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, asCel(item)]))
}

function describe(error: unknown, filter: string): string {
  const is_known =
    error instanceof ParseError || error instanceof FilterTypeError || error instanceof EvaluationError
  if (!is_known) return error instanceof Error ? error.message : String(error)
  if (!error.range) return error.summary
  const lines = filter.slice(0, error.range.start).split('\n')
  return `line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}: ${error.summary}`
}
