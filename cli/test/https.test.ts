/** HTTPS without a proxy: `dev` and `serve` with a certificate of one's own. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { connect } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { setupPython } from '../../scripts/setup-python.ts'
import { makeCertificate } from '../../server/test/support/certificate.ts'
import { until } from '../../server/test/support/cluster.ts'
import { Home, printedBy } from './runyard.ts'

const LIMIT = { timeout: 300_000 }
const CLIENT = fileURLToPath(new URL('../../client/src/index.ts', import.meta.url))
const home = new Home()
const file = (name: string): string => join(home.directory, name)
const [first, second] = [makeCertificate('127.0.0.1'), makeCertificate('127.0.0.1')]
let dev: ReturnType<Home['spawn']>
let base_url: string
let api_key: string
let banner: string

before(async () => {
  writeFileSync(file('cert'), first.cert)
  writeFileSync(file('key'), first.key)
  copyFileSync(first.cert_file, file('ca'))
  dev = home.spawn(['dev', '--port', '0', '--tls-cert', 'cert', '--tls-key', 'key'], {
    environment: { RUNYARD_LOG_LEVEL: 'info' },
  })
  banner = await printedBy(dev, /curl [\s\S]*-d /)
  const stored = JSON.parse(readFileSync(file('.runyard/client.json'), 'utf8')) as Record<string, string>
  base_url = stored.base_url ?? ''
  api_key = stored.api_key ?? ''
}, LIMIT)
after(() => home.remove(), LIMIT)

/** Of the certificate that a new connection is shown. */
function shownNow(): Promise<string> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(base_url)
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false }, () => {
      resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? '')
      socket.destroy()
    })
    socket.once('error', reject)
  })
}

const fingerprintOf = ({ cert_file }: { cert_file: string }): string =>
  spawnSync('openssl', ['x509', '-in', cert_file, '-noout', '-fingerprint', '-sha256'], { encoding: 'utf8' })
    .stdout.trim()
    .replace(/^.*=/, '')

const trusting = { environment: { NODE_EXTRA_CA_CERTS: file('ca') } }

test('dev speaks HTTPS, and its own commands need to trust the certificate', LIMIT, async () => {
  assert.match(base_url, /^https:\/\/127\.0\.0\.1:\d+\/api\/v1$/)
  assert.match(banner, /curl --cacert cert https:/)
  const listed = await home.runProcess(['list'], trusting)
  assert.equal(listed.code, 0, listed.stderr)
  const refused = await home.runProcess(['list'])
  assert.equal(refused.code, 4)
  assert.match(
    refused.stderr,
    /error: Cannot reach https:.*self-signed certificate[\s\S]*NODE_EXTRA_CA_CERTS/,
  )
  const run = await home.runProcess(['run', '```sh\necho safe\n```'], trusting)
  assert.equal(run.code, 0, run.stderr)
  assert.match(run.stdout, /│ safe\n/)
})

test('doctor finds beside it that a Runyard has the address', LIMIT, async () => {
  const environment = {
    ...{ RUNYARD_PORT: new URL(base_url).port, RUNYARD_DATA_DIR: file('another') },
    RUNYARD_SANDBOX: 'bubblewrap',
  }
  const { stdout } = await home.runProcess(['doctor', '--json'], { environment })
  const findings = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, string>)
  const [found] = findings.filter(({ area }) => area === 'Address')
  assert.equal(found?.state, 'good')
  assert.match(found?.says ?? '', /^127\.0\.0\.1:\d+ is taken by a Runyard \d+\.\d+\.\d+ that runs\.$/)
})

test('the TypeScript library works with the certificate, and says what is wrong without', LIMIT, async () => {
  const program = `
    import { Runyard } from ${JSON.stringify(CLIENT)}
    const client = new Runyard({ maxRetries: 0 })
    console.log(await client.runs.list().then(() => 'listed', (error) => error.constructor.name + ': ' + error.message))`
  const ask = (env: object): string =>
    spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, RUNYARD_BASE_URL: base_url, RUNYARD_API_KEY: api_key, ...env },
    }).stdout
  assert.equal(ask(trusting.environment), 'listed\n')
  assert.match(ask({}), /^APIConnectionError: Cannot reach https:.*: self-signed certificate/)
})

const python = setupPython()
const skip = 'missing' in python ? python.missing : false
test('so does the Python library, by the client of httpx that it is given', { ...LIMIT, skip }, async () => {
  const program = `
import ssl, sys, httpx
from runyard import APIConnectionError, Runyard
for trusted in (True, False):
    verify = ssl.create_default_context(cafile=sys.argv[1]) if trusted else True
    with Runyard(max_retries=0, http_client=httpx.Client(verify=verify)) as client:
        try:
            client.runs.list_page()
            print("listed")
        except APIConnectionError as error:
            print(error)
`
  const asked = spawnSync('python' in python ? python.python : '', ['-c', program, file('ca')], {
    encoding: 'utf8',
    env: { RUNYARD_BASE_URL: base_url, RUNYARD_API_KEY: api_key },
  })
  assert.match(asked.stdout, /^listed\nCannot reach https:.*certificate verify failed.*\n$/, asked.stderr)
})

test('renewed files are taken up, and half of a pair or rubbish is not', LIMIT, async () => {
  assert.equal(await shownNow(), fingerprintOf(first))
  const kept = printedBy(dev, /is not the key of the first certificate.*from before is still used/, 'stderr')
  writeFileSync(file('cert'), second.cert)
  await kept
  assert.equal(await shownNow(), fingerprintOf(first))
  // As renewing programs do it: the new file is put in the place of the old one.
  writeFileSync(file('key.new'), second.key)
  const renewed = printedBy(dev, /The certificate was renewed/, 'stderr')
  renameSync(file('key.new'), file('key'))
  await renewed
  await until('the new certificate', async () => (await shownNow()) === fingerprintOf(second))
  const old = await home.runProcess(['list'], trusting)
  assert.equal(old.code, 4, 'the client of the old certificate refuses the new one')
  writeFileSync(file('ca'), second.cert)
  assert.equal((await home.runProcess(['list'], trusting)).code, 0)
  const rubbish = printedBy(dev, /has no certificate in PEM.*from before is still used/, 'stderr')
  writeFileSync(file('cert'), 'rubbish')
  await rubbish
  assert.equal(await shownNow(), fingerprintOf(second))
})

test('a pair that cannot be served is one line and exit code 2', LIMIT, async () => {
  const [pair, other] = [makeCertificate('127.0.0.1'), makeCertificate('127.0.0.1')]
  writeFileSync(file('good-cert'), pair.cert)
  writeFileSync(file('good-key'), pair.key)
  writeFileSync(file('other-key'), other.key)
  writeFileSync(file('empty'), '')
  const locked = spawnSync(
    'openssl',
    ['pkcs8', '-topk8', '-in', file('good-key'), '-out', file('locked-key'), '-passout', 'pass:x'],
    { encoding: 'utf8' },
  )
  assert.equal(locked.status, 0, locked.stderr)
  const cases: Array<[cert: string | null, key: string | null, says: RegExp]> = [
    ['good-cert', null, /--tls-cert and --tls-key go together/],
    [null, 'good-key', /--tls-cert and --tls-key go together/],
    ['nowhere', 'good-key', /--tls-cert: \S+nowhere is not there\./],
    ['good-cert', '.', /--tls-key: \S+ is a folder\./],
    ['empty', 'good-key', /--tls-cert: \S+empty has no certificate in PEM\./],
    ['good-key', 'good-cert', /--tls-cert: \S+good-key has no certificate in PEM\./],
    ['good-cert', 'empty', /--tls-key: \S+empty has no private key in PEM\./],
    ['good-cert', 'other-key', /--tls-key: \S+other-key is not the key of the first certificate/],
    ['good-cert', 'locked-key', /--tls-key: \S+locked-key is protected by a passphrase/],
  ]
  for (const [cert, key, says] of cases) {
    const args = [...(cert ? ['--tls-cert', cert] : []), ...(key ? ['--tls-key', key] : [])]
    const ended = await home.run(['dev', '--port', '0', '--data-dir', 'more', '--json', ...args])
    assert.deepEqual([ended.code, ended.stdout], [2, ''], ended.stderr)
    assert.match(ended.stderr, says)
    assert.match(ended.stderr, /^error: [^\n]+\n$/)
  }
  const environment = {
    DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none',
    RUNYARD_SECRET_KEY: 'x'.repeat(40),
  }
  const serve = await home.run(
    ['serve', '--port', '0', '--tls-cert', 'good-cert', '--tls-key', 'other-key'],
    { environment },
  )
  assert.equal(serve.code, 2, serve.stderr)
  assert.match(serve.stderr, /is not the key of the first certificate/)
})
