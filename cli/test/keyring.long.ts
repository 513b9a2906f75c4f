/** Keys of logins in the keyring of a desktop: GNOME's, on a bus of its own. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { whyNoKeyring } from '../../server/test/support/machine.ts'
import { BINARY, type Ended, Home } from './runyard.ts'

const LIMIT = { timeout: 300_000, skip: whyNoKeyring() }
const home = new Home()
let base_url: string
let api_key: string
before(async () => {
  const service = await home.serve()
  base_url = service.base_url
  api_key = service.api_key
})
after(() => home.remove())

const run = (args: readonly string[], options: { unlocked?: boolean; input?: string } = {}): Promise<Ended> =>
  onDesktop([BINARY, ...args], options)

/** Runs Node on a desktop whose keyring is unlocked, or not. By default where no `.runyard/client.json` is in the way. */
async function onDesktop(
  args: readonly string[],
  { unlocked = true, input = '', cwd = '/' } = {},
): Promise<Ended> {
  const unlock = 'printf password | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1'
  const script = `${unlocked ? `${unlock}; ` : ''}exec "$NODE" "$@"`
  const child = spawn('dbus-run-session', ['--', 'bash', '-c', script, 'runyard', ...args], {
    cwd,
    env: {
      ...{ PATH: process.env.PATH, HOME: home.directory, XDG_RUNTIME_DIR: home.directory },
      NODE: process.execPath,
    },
  })
  child.stdin.end(input)
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('close', resolve)),
  ])
  return { code, stdout, stderr }
}

/** What the keyring holds under an id of ours. */
async function readEntry(id: string): Promise<string> {
  const code = `console.log(new (require('@napi-rs/keyring').Entry)('runyard', '${id}').getPassword())`
  const { stdout } = await onDesktop(['-e', code], { cwd: import.meta.dirname })
  return stdout
}

const stored = () => readFileSync(join(home.directory, '.config/runyard/logins.json'), 'utf8')
const login = (...more: string[]) =>
  run(['login', base_url, '--with-key', '--profile', 'desk', ...more], { input: `${api_key}\n` })

test('a key is kept in the keyring, used from there, and forgotten with its login', LIMIT, async () => {
  const made = await login()
  assert.equal(made.code, 0, made.stderr)
  assert.match(made.stderr, /Its key is in the system's keyring\./)
  assert(!stored().includes(api_key))
  assert.match((await run(['whoami'])).stdout, /\(user, admin\)/)

  const locked = await run(['whoami'], { unlocked: false })
  assert.equal(locked.code, 1)
  assert.match(locked.stderr, /keyring does not give the key of the login desk: .*\n?.*--no-keyring/)
  // Commands that need no key still work.
  assert.match((await run(['profile', 'list'], { unlocked: false })).stdout, /\* +desk /)

  const id = JSON.parse(stored()).profiles.desk.keyring as string
  assert.notEqual(await readEntry(id), 'null\n')
  assert.equal((await run(['logout'])).code, 0)
  assert.deepEqual(JSON.parse(stored()).profiles, {})
  assert.equal(await readEntry(id), 'null\n')
})

test('where the keyring is locked, or not wanted, the key goes to the file', LIMIT, async () => {
  const own = await login('--no-keyring')
  assert.equal(own.code, 0, own.stderr)
  assert(stored().includes(api_key))
  assert.match((await run(['whoami'], { unlocked: false })).stdout, /\(user, admin\)/)
  const locked = await run(['login', base_url, '--with-key', '--profile', 'other'], {
    ...{ unlocked: false, input: `${api_key}\n` },
  })
  assert.equal(locked.code, 0, locked.stderr)
  assert.equal(JSON.parse(stored()).profiles.other.api_key, api_key)
})
