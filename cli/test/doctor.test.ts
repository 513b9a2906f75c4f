/** `runyard doctor` says what is there and what is missing, and leaves nothing behind. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { whyNoDocker } from '../../server/test/support/machine.ts'
import { LONG } from '../../server/test/support/once.ts'
import { TEST_IMAGE } from '../../server/test/support/sandbox-backends.ts'
import { BINARY, Home } from './runyard.ts'

interface Finding {
  area: string
  state: 'good' | 'weak' | 'bad'
  says: string
  fix?: string
}

const LIMIT = { timeout: 300_000 }
const NO_DOCKER = { DOCKER_HOST: 'unix:///nowhere/docker.sock' }
const homes: Home[] = []
const makeHome = (): Home => {
  const home = new Home()
  homes.push(home)
  return home
}
after(() => Promise.all(homes.map((home) => home.remove())), LIMIT)

/** What programs and libraries look at by themselves; every other variable is a command's own. */
const LOOKED_AT = ['DOCKER_HOST', 'PATH']

async function withVariables<T>(variables: NodeJS.ProcessEnv, work: () => Promise<T>): Promise<T> {
  const put = (values: NodeJS.ProcessEnv): void => {
    for (const name of LOOKED_AT) {
      if (values[name] === undefined) delete process.env[name]
      else process.env[name] = values[name]
    }
  }
  const before = { ...process.env }
  put({ PATH: before.PATH, ...variables })
  try {
    return await work()
  } finally {
    put(before)
  }
}

async function examine(home: Home, variables: NodeJS.ProcessEnv, ...args: string[]) {
  const environment = { RUNYARD_PORT: '0', ...variables }
  const { code, stdout, stderr } = await withVariables(variables, () =>
    home.run(['doctor', '--json', ...args], { environment }),
  )
  assert.equal(stderr, '')
  const findings = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Finding)
  for (const { says, state, fix } of findings)
    assert(state === 'good' || fix || /: /.test(says) || /\. /.test(says), `no fix: ${says}`)
  return { code, findings, of: (area: string) => findings.filter((finding) => finding.area === area) }
}

test('on a fresh machine it names what is there, and makes nothing', LIMIT, async () => {
  const home = makeHome()
  const { code, of } = await examine(home, NO_DOCKER)
  assert.equal(code, 0)
  assert.match(of('Data directory')[0]?.says ?? '', /\.runyard is not there yet/)
  assert.deepEqual(
    of('Docker').map(({ state, fix }) => [state, fix]),
    [['weak', 'Start the engine, or correct DOCKER_HOST.']],
  )
  assert.match(of('bubblewrap')[0]?.says ?? '', /A trial command ran/)
  assert.match(of('Sandbox')[0]?.says ?? '', /Runs get bubblewrap/)
  assert.equal(of('Models')[0]?.state, 'weak')
  assert.match(
    of('Agents')[0]?.says ?? '',
    /^None is installed .*`runyard agents install` can add claude, codex, /,
  )
  assert.deepEqual(readdirSync(home.directory), [])
})

test('as text it puts each fix below what it fixes, and fits the terminal', LIMIT, async () => {
  const home = makeHome()
  const environment = { ...NO_DOCKER, RUNYARD_PORT: '0' }
  const { stdout } = await withVariables(NO_DOCKER, () => home.run(['doctor'], { environment }))
  assert.match(stdout, /\n {2}weak {2}No Docker engine answers.*\n {2}fix: {2}Start the engine/)
  assert.match(stdout, /\nRunyard works here; \d+ things? could be better\.\n$/)
  const shown = (await withVariables(NO_DOCKER, () => home.runOnTerminal(['doctor'], environment))).stdout
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours.
  for (const line of shown.replace(/\u001b\[\d+m/g, '').split('\n')) assert(line.length <= 60, line)
})

test('where nothing works it ends with 1 and says how each could', LIMIT, async () => {
  const home = makeHome()
  const bin = join(home.directory, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'bwrap'), '#!/bin/sh\necho bubblewrap 0.4.0\n')
  chmodSync(join(bin, 'bwrap'), 0o755)
  const environment = { ...NO_DOCKER, PATH: `${bin}:${process.env.PATH}` }
  const { code, of } = await examine(home, environment)
  assert.equal(code, 1)
  assert.match(of('bubblewrap')[0]?.fix ?? '', /apt-get install -y bubblewrap socat/)
  assert.equal(of('bubblewrap')[0]?.state, 'weak')
  assert.equal(of('Sandbox')[0]?.state, 'bad')
  if (LONG) {
    const wanted = await examine(home, environment, '--sandbox', 'bubblewrap')
    assert.equal(wanted.of('bubblewrap')[0]?.state, 'bad')
  }
  assert.deepEqual(readdirSync(home.directory), ['bin'])
})

test('bad settings, a directory that cannot be used, no database, a port that is taken', LIMIT, async () => {
  const home = makeHome()
  const only = { ...NO_DOCKER, RUNYARD_SANDBOX: 'host' }
  const setting = await examine(home, { RUNYARD_SLOTS: '0' })
  assert.deepEqual(
    setting.of('Settings').map(({ says }) => says),
    ['RUNYARD_SLOTS: must be a whole number from 1 to 1000'],
  )
  assert.equal(setting.code, 1)

  writeFileSync(join(home.directory, 'file'), '')
  const [not_directory] = (await examine(home, only, '--data-dir', 'file')).of('Data directory')
  assert.deepEqual(
    [not_directory?.state, /is a file|below a file/.test(not_directory?.says ?? '')],
    ['bad', true],
  )

  const url = { DATABASE_URL: 'postgres://me:hidden-word@127.0.0.1:1/x' }
  const [database] = (await examine(home, { ...only, ...url })).of('Database')
  assert.equal(database?.state, 'bad')
  assert.match(
    database?.says ?? '',
    /^PostgreSQL at postgres:\/\/me@127\.0\.0\.1:1\/x does not listen there: start it/,
  )

  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const [address] = (await examine(home, { ...only, RUNYARD_PORT: String(port) })).of('Address')
  server.close()
  assert.deepEqual([address?.state, address?.says.includes('EADDRINUSE')], ['bad', true])
})

test('a user without a name is told as its number, as in a container', {
  ...LIMIT,
  skip: process.getuid?.() !== 0 && 'only root may become another user',
}, () => {
  const { directory } = makeHome()
  const id = 43_210
  chownSync(directory, id, id)
  for (const home of LONG ? [{ HOME: directory }, {}] : [{}]) {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [BINARY, 'doctor', '--json', '--sandbox', 'docker'],
      {
        ...{ uid: id, gid: id, cwd: directory, encoding: 'utf8' },
        // A file that this user may not use as a socket.
        env: { ...home, PATH: process.env.PATH, DOCKER_HOST: 'unix:///etc/passwd', RUNYARD_PORT: '0' },
      },
    )
    assert.deepEqual([status, stderr], [1, ''])
    assert.match(stdout, /as the user 43210\./)
    assert.match(stdout, /usermod -aG docker 43210,/)
  }
})

test('it asks each model provider and says why one does not answer', LIMIT, async () => {
  const provider = createServer((request, response) => {
    const is_known = request.headers.authorization === 'Bearer the-right-key'
    response.writeHead(is_known ? 200 : 401).end(JSON.stringify({ data: [{ id: 'one' }, { id: 'two' }] }))
  }).listen(0, '127.0.0.1')
  await once(provider, 'listening')
  const base_url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
  const ask = async (key: string, more: NodeJS.ProcessEnv = {}) => {
    const environment = { ...more, ...NO_DOCKER, OPENAI_BASE_URL: base_url, OPENAI_API_KEY: key }
    return (await examine(makeHome(), environment, '--sandbox', 'host')).of('Models')
  }
  assert.deepEqual(await ask('the-right-key'), [
    { area: 'Models', state: 'good', says: `openai answers at ${base_url} and lists 2 models.` },
    { area: 'Models', state: 'good', says: 'Runs that name no model get openai/one.' },
  ])
  const [, , useless] = await ask('the-right-key', {
    RUNYARD_FALLBACK_MODELS: 'openai/two,anthropic/claude-x',
  })
  assert.equal(useless?.state, 'bad')
  assert.match(useless?.says ?? '', /^The model "anthropic\/claude-x" is not available here/)
  const [refused] = await ask('another-key')
  assert.deepEqual([refused?.state, refused?.says], ['bad', `openai at ${base_url} refuses the key (401).`])
  provider.close()
  const [away] = await ask('the-right-key')
  assert.equal(away?.says, `openai at ${base_url} cannot be reached (ECONNREFUSED).`)
})

test('a dev that runs is seen, and what a killed trial left is removed', LIMIT, async () => {
  const home = makeHome()
  await home.serve({ sandbox: 'host', data_dir: join(home.directory, '.runyard') })
  const left = join(home.directory, '.runyard', 'doctor-left')
  mkdirSync(join(left, 'sandboxes'), { recursive: true })
  utimesSync(left, 0, 0)
  const { of } = await examine(home, NO_DOCKER)
  assert.match(of('Database')[0]?.says ?? '', /a `runyard dev` works with it now/)
  assert.equal(existsSync(left), false)
  assert.deepEqual(
    readdirSync(join(home.directory, '.runyard')).filter((name) => name.startsWith('doctor')),
    [],
  )
})

const undocked = whyNoDocker()
test('Docker is tried with the default image, and nothing of the trial stays', {
  ...LIMIT,
  skip: undocked,
}, async () => {
  const { code, of } = await examine(makeHome(), { RUNYARD_DEFAULT_IMAGE: TEST_IMAGE })
  assert.equal(code, 0)
  assert.match(of('Docker')[1]?.says ?? '', /^A trial command ran/)
  assert.match(of('Sandbox')[0]?.says ?? '', /Runs get Docker/)
  for (const kind of [
    ['ps', '-a'],
    ['volume', 'ls'],
  ]) {
    const filter = 'label=runyard.installation=runyard-doctor'
    assert.equal(spawnSync('docker', [...kind, '-q', '--filter', filter]).stdout.toString(), '')
  }
  const missing = await examine(makeHome(), { RUNYARD_DEFAULT_IMAGE: 'runyard-test:absent' })
  assert.match(missing.of('Docker')[1]?.fix ?? '', /^docker pull runyard-test:absent/)
  assert.equal(missing.code, 1)
  assert.match(
    missing.of('Sandbox')[0]?.says ?? '',
    /bubblewrap does not take its place: RUNYARD_DEFAULT_IMAGE/,
  )
  const allowed = await examine(makeHome(), {
    ...{ RUNYARD_DEFAULT_IMAGE: 'runyard-test:absent', RUNYARD_ALLOW_SANDBOX_FALLBACK: '1' },
  })
  assert.match(allowed.of('Sandbox')[0]?.says ?? '', /Runs get bubblewrap/)
})

test('an engine that says nothing and a directory that is none keep it from nothing', LIMIT, async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const home = makeHome()
  writeFileSync(join(home.directory, 'file'), '')
  const DOCKER_HOST = `tcp://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const { code, of } = await examine(home, { DOCKER_HOST }, '--data-dir', 'file')
  silent.close()
  assert.equal(code, 1)
  assert.deepEqual(
    of('Docker').map(({ says }) => says),
    [`No Docker engine answers at DOCKER_HOST=${DOCKER_HOST}.`],
  )
  assert.match(of('bubblewrap')[0]?.says ?? '', /A trial command ran/)
  assert.match(of('Address')[0]?.says ?? '', /is free to listen on/)
  if (LONG) {
    const unreadable = await examine(home, { DOCKER_HOST: '://' }, '--sandbox', 'docker')
    assert.deepEqual([unreadable.code, unreadable.of('Docker')[0]?.state], [1, 'bad'])
  }
  const with_password = await examine(
    home,
    { DOCKER_HOST: 'tcp://me:hidden-word@127.0.0.1:1' },
    '--sandbox',
    'docker',
  )
  assert.equal(
    with_password.of('Docker')[0]?.says,
    'No Docker engine answers at DOCKER_HOST=tcp://***@127.0.0.1:1.',
  )
})
