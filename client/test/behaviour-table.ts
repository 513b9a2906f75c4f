import { readdirSync, readFileSync } from 'node:fs'
import { fill, type Json, type Values } from './placeholders.ts'

const FOLDER = new URL('../behaviour/', import.meta.url)

/** The cases of all files, those with `each` once for each of its values. */
export function readTable(): Json[] {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.json'))
  const cases = files.sort().flatMap(readFamily)
  const twice = cases.find(({ name }, index) => cases.findIndex((other) => other.name === name) !== index)
  if (twice) throw new Error(`Two cases have the name "${twice.name}".`)
  return cases
}

function readFamily(file: string): Values[] {
  const found = JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as Values[]
  return found.flatMap(({ each, ...rest }) =>
    (Array.isArray(each) ? each : [{}]).map((values) => {
      const filled = fill(rest, values as Values) as Values
      return { ...filled, name: `${file.replace('.json', '')}: ${filled.name}` }
    }),
  )
}
