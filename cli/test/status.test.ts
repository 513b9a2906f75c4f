import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { Home } from './runyard.ts'

const LIMIT = { timeout: 600_000 }
const home = new Home()
let base_url: string
let api_key: string
before(async () => {
  const service = await home.serve()
  base_url = service.base_url
  api_key = service.api_key
}, LIMIT)
after(() => home.remove(), LIMIT)

test('status says which server and person commands use, and from where', async () => {
  const file = join(home.directory, '.runyard/client.json')
  const { code, stdout } = await home.run(['status', '-o', 'json'])
  assert.equal(code, 0)
  const told = JSON.parse(stdout) as Record<string, unknown> & { principal: { type: string } }
  assert.deepEqual([told.base_url, told.base_url_from, told.api_key_from], [base_url, file, file])
  assert.deepEqual([told.principal.type, told.role], ['user', 'admin'])
  assert(!stdout.includes(api_key))
  const environment = { RUNYARD_BASE_URL: base_url }
  const mixed = await home.run(['status', '--api-key', api_key], { environment })
  assert.match(
    mixed.stdout,
    /^server {2}\S+ \(from RUNYARD_BASE_URL\)\nkey {5}ry_\S+ \(from --api-key\)\nyou {5}.*admin/,
  )
})

test('lists fit a terminal of 60 columns, with the ends of ids', async () => {
  const environment = { RUNYARD_BASE_URL: base_url, RUNYARD_API_KEY: api_key }
  const name = 'somebody whose name is far too long for a small terminal'
  assert.equal((await home.run(['principal', 'add', name, '--role', 'viewer'], { environment })).code, 0)
  const started = await home.run(['run', 'word '.repeat(30), '--detach'], { environment })
  assert.equal(started.code, 0, started.stderr)
  for (const list of [['principal', 'list'], ['list']]) {
    const { stdout } = await home.runOnTerminal(list, environment)
    const lines = stripVTControlCharacters(stdout).split(/\r?\n/)
    assert.match(stdout, /^[0-9a-f]{8} .*…/m)
    assert.doesNotMatch(stdout, /[0-9a-f]{8}-[0-9a-f]{4}-/)
    // Sentences about runs that wait come below the table.
    for (const line of lines.filter((line) => !/ waits: /.test(line))) assert(line.length <= 60, line)
  }
  const piped = await home.run(['principal', 'list'], { environment })
  assert.match(piped.stdout, new RegExp(`${name} .* viewer`))
})

test('a leftover file is named where it takes the place of the own one', async () => {
  const directory = join(home.directory, 'project')
  const place = join(directory, '.runyard')
  const own = join(home.directory, '.config/runyard')
  mkdirSync(place, { recursive: true })
  mkdirSync(own, { recursive: true })
  const left = join(place, 'client.json')
  const keep = (file: string, connection: object) =>
    writeFileSync(file, JSON.stringify(connection), { mode: 0o600 })
  keep(join(own, 'client.json'), { base_url, api_key })
  const takes = `from ${left}, which takes the place of ${own}/client.json; delete it if it was left over`
  const words = async (args: string[], set: Record<string, string> = {}) => {
    const environment = { HOME: home.directory, ...set }
    const { stderr, stdout } = await home.run(args, { directory, environment })
    return `${stdout}${stderr}`.replaceAll(/\s+/g, ' ')
  }
  keep(left, { base_url: 'http://127.0.0.1:9', api_key: 'ry_old' })
  const away = await words(['list'])
  assert(away.includes(takes), away)
  assert((await words(['status'])).includes(`not used ${own}/client.json`))
  keep(left, { base_url, api_key: `${api_key.slice(0, -4)}0000` })
  const refused = await words(['list'])
  assert(refused.includes(takes), refused)
  keep(left, { base_url, api_key })
  const mixed = await words(['list'], { RUNYARD_API_KEY: 'ry_old' })
  assert(mixed.includes(', and the key from RUNYARD_API_KEY; delete the file if it was left over'), mixed)
  const missing = await words(['get', '01900000-0000-7000-8000-000000000000'])
  assert(missing.includes(takes), missing)
})
