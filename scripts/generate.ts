/** Writes what is generated from the contract. With `--check`, only says what is stale and exits 1. */
import { execFile } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { ErrorBody } from '../server/src/contract/error.ts'
import { MessageDelta } from '../server/src/contract/event.ts'
import { buildOpenApi } from '../server/src/contract/openapi.ts'
import { WebhookEvent } from '../server/src/contract/webhook.ts'
import { describeClient } from './api-reference.ts'
import { generatePython, PYTHON_PACKAGE } from './generate-python.ts'
import { generateSettingTexts } from './setting-texts.ts'

const checking = process.argv.includes('--check')
const root = new URL('../', import.meta.url)
const { version } = JSON.parse(readFileSync(new URL('server/package.json', root), 'utf8')) as {
  version: string
}
const stale: string[] = []

function write(name: string, text: string): void {
  const file = new URL(name, root)
  let before: string | null = null
  try {
    before = readFileSync(file, 'utf8')
  } catch {}
  if (before === text) return
  if (checking) stale.push(name)
  else {
    mkdirSync(new URL('./', file), { recursive: true })
    writeFileSync(file, text)
  }
}

/** They would be half of the file of types. */
const withoutExamples = (document: string): string =>
  JSON.stringify(JSON.parse(document), (key, value) => (/^examples?$/.test(key) ? undefined : value))

/** What its source no longer has. */
function remove(name: string): void {
  if (checking) stale.push(name)
  else rmSync(new URL(name, root))
}

const contract = `${JSON.stringify(buildOpenApi(version, [ErrorBody, MessageDelta, WebhookEvent]), null, 2)}\n`
write('openapi.json', contract)
const typing = promisify(execFile)('node_modules/.bin/openapi-typescript', ['--alphabetize'], {
  cwd: root,
  maxBuffer: 64 * 1024 * 1024,
})
typing.child.stdin?.end(withoutExamples(contract))
const [types, python] = await Promise.all([typing, generatePython(contract, version)])
write('client/src/api.gen.ts', types.stdout)
write(
  'server/src/settings.gen.ts',
  generateSettingTexts(readFileSync(new URL('docs/configuration.md', root), 'utf8')),
)
write('client/api.md', describeClient())
for (const [name, text] of Object.entries(python)) write(name, text)
for (const name of globSync(`${PYTHON_PACKAGE}/_sync/**/*.py`, { cwd: root }))
  if (!(name in python)) remove(name)

if (stale.length) {
  console.error(`Stale: ${stale.join(', ')}. Run \`npm run generate\` and commit the result.`)
  process.exit(1)
}
