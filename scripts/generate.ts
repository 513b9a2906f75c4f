/** Writes what is generated from the contract. With `--check`, only says what is stale and exits 1. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { ErrorBody } from '../server/src/contract/error.ts'
import { MessageDelta } from '../server/src/contract/event.ts'
import { buildOpenApi } from '../server/src/contract/openapi.ts'
import { WebhookEvent } from '../server/src/contract/webhook.ts'

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
  else writeFileSync(file, text)
}

const named = [ErrorBody, MessageDelta, WebhookEvent]
write('openapi.json', `${JSON.stringify(buildOpenApi(version, named), null, 2)}\n`)
const types = execFileSync('node_modules/.bin/openapi-typescript', ['openapi.json', '--alphabetize'], {
  cwd: root,
  encoding: 'utf8',
  stdio: ['ignore', 'pipe', 'ignore'],
})
write('client/src/api.gen.ts', types)

if (stale.length) {
  console.error(`Stale: ${stale.join(', ')}. Run \`npm run generate\` and commit the result.`)
  process.exit(1)
}
