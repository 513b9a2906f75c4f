/**
 * `npm run check` runs this: a change of `openapi.json` that breaks programs written for the last release needs an item in the
 * CHANGELOG that begins with "Breaking" and names the operations. With `--release`, keeps the description as the released one.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Breakage, findBreakages, installOasdiff } from './oasdiff.ts'

const pathOf = (name: string): string => fileURLToPath(new URL(`../${name}`, import.meta.url))
export const RELEASED = pathOf('scripts/released-openapi.json')
export const CURRENT = pathOf('openapi.json')
const CHANGELOG = pathOf('CHANGELOG.md')

/** The operations with breaking changes that the newest section of the changelog does not name, and their changes. */
export function findUnnamed(breakages: readonly Breakage[], changelog: string): Map<string, string[]> {
  const [, newest = ''] = changelog.split(/^## /m)
  const items = newest.split(/^- /m).filter((item) => item.startsWith('Breaking'))
  const named = new Set(
    items.flatMap((item) => [...item.matchAll(/`([A-Z]+ \/[^`]*)`/g)].map(([, it]) => it)),
  )
  const unnamed = new Map<string, string[]>()
  for (const { operation, text } of breakages)
    if (!named.has(operation)) unnamed.set(operation, [...(unnamed.get(operation) ?? []), text])
  return unnamed
}

/** Without what people read: a third of the size, and no change of a sentence is a change of the API. */
export function keepMeaning(value: unknown, is_map = false): unknown {
  if (Array.isArray(value)) return value.map((item) => keepMeaning(item))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).flatMap(([name, item]: [string, unknown]) => {
    if (!is_map && /^(description|summary|examples?|x-.*|tags)$/.test(name)) return []
    // The keys of these are names of fields, schemas, paths and so on.
    const holds_names = !is_map && /^(properties|patternProperties|schemas|paths|\$defs)$/.test(name)
    return [[name, keepMeaning(item, holds_names)] as const]
  })
  // A response has to have a description.
  const needs = !is_map && 'description' in value && ('content' in value || 'headers' in value)
  return Object.fromEntries(needs ? [['description', ''], ...entries] : entries)
}

async function check(): Promise<number> {
  const oasdiff = installOasdiff()
  if ('missing' in oasdiff) {
    console.error(oasdiff.missing)
    return 1
  }
  const breakages = await findBreakages(oasdiff.program, RELEASED, CURRENT)
  const unnamed = findUnnamed(breakages, readFileSync(CHANGELOG, 'utf8'))
  for (const [operation, texts] of unnamed) console.error(`\`${operation}\`\n  ${texts.join('\n  ')}`)
  if (unnamed.size > 0)
    console.error(
      'These changes break programs written for the last release. If they are meant, add an item to the newest section of ' +
        'CHANGELOG.md that begins with "Breaking:", names each operation as it is here, and says what to do.',
    )
  return unnamed.size > 0 ? 1 : 0
}

if (import.meta.main) {
  if (process.argv.includes('--release'))
    writeFileSync(RELEASED, `${JSON.stringify(keepMeaning(JSON.parse(readFileSync(CURRENT, 'utf8'))))}\n`)
  else check().then((code) => (process.exitCode = code))
}
