/** Everything that one installs with names only settings that the service reads, and the version of this checkout. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { Ajv } from 'ajv'
import { unpackTar } from 'modern-tar'
import { parse } from 'yaml'
import { SETTING_TEXTS } from '../../server/src/settings.gen.ts'
import { temporaryDirectory } from '../../server/test/support/leftovers.ts'
import { EXTERNAL } from '../bundle.ts'
import { readVersion } from '../named-versions.ts'
import { packImage } from '../pack-image.ts'
import { root } from './scene.ts'

const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const version = readVersion(root)
const chart = 'deploy/helm/runyard'
/** Variables of compose: an image, and the port of this machine. No process reads them. */
const OF_COMPOSE = ['RUNYARD_IMAGE', 'RUNYARD_PUBLISH']
const files = globSync('deploy/**/*', { cwd: root, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name).slice(root.length))

test('each setting that they name is one that the service knows', () => {
  const named = files.flatMap((file) =>
    [...read(file).matchAll(/\bRUNYARD_[A-Z_]*[A-Z]\b/g)].map(([name]) => ({ file, name })),
  )
  assert(named.some(({ name }) => name === 'RUNYARD_SECRET_KEY'))
  const unknown = named.filter(({ name }) => !(name in SETTING_TEXTS) && !OF_COMPOSE.includes(name))
  assert.deepEqual(unknown, [])
})

test('they name the version of this checkout', () => {
  const chart_file = parse(read(`${chart}/Chart.yaml`)) as Record<string, string>
  assert.deepEqual([chart_file.version, chart_file.appVersion], [version, version])
  const tags = files.flatMap((file) => [...read(file).matchAll(/ghcr\.io\/runyard\/runyard:([\w.-]+)/g)])
  assert(tags.length > 0)
  for (const [image, tag] of tags) assert.equal(tag, version, image)
})

test('the archive of the image has the command, and a checksum of all else that comes into it', async () => {
  const archive = gunzipSync(readFileSync(await packImage(temporaryDirectory('image'))))
  const entries = await unpackTar(new Uint8Array(archive))
  assert.deepEqual(
    entries.map(({ header }) => header.name),
    ['Dockerfile', 'healthcheck.js', 'install-packages.sh', 'packages.txt', 'runyard.tgz'],
  )
  const list = new TextDecoder().decode(entries.find(({ header }) => header.name === 'packages.txt')?.data)
  const lines = list
    .trimEnd()
    .split('\n')
    .map((line) => line.split(' '))
  for (const line of lines) {
    const [architecture = '', sum = '', path = '', place = ''] = line
    assert.equal(line.length, 4, line.join(' '))
    assert.match(architecture, /^(?:any|amd64|arm64)$/)
    assert.match(sum, /^[0-9a-f]{128}$/)
    // Packages for the other architecture are not installed here.
    if (architecture === 'any') {
      const { name = '', version: installed } = JSON.parse(read(`${place}/package.json`)) as Record<
        string,
        string
      >
      assert.equal(path, `${name}/-/${name.split('/').at(-1)}-${installed}.tgz`)
    }
  }
  for (const architecture of ['amd64', 'arm64']) {
    const places = lines.filter(([of]) => of === 'any' || of === architecture).map(([, , , place]) => place)
    const node = `node-linux-${architecture === 'amd64' ? 'x64' : 'arm64'}`
    for (const name of [...EXTERNAL, node]) assert(places.includes(`node_modules/${name}`), name)
    assert.equal(places.filter((place) => place?.includes('node-linux-')).length, 1)
  }
})

test('the values of the chart fit its schema, which refuses what is not there', () => {
  const values = parse(read(`${chart}/values.yaml`)) as Record<string, unknown>
  const check = new Ajv({ strict: true, allErrors: true }).compile(
    JSON.parse(read(`${chart}/values.schema.json`)),
  )
  const faults = (given: object): string[] => {
    check({ ...values, ...given })
    return (check.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
  }
  assert.deepEqual(faults({}), [])
  for (const wrong of [
    { replica: 3 },
    { settings: { RUNYARD_MAX_OPEN_RUNS: 20 } },
    { settings: { RUNYARD_SLOTS: '4' } },
    { settings: { max_open_runs: '20' } },
    { settings: { RUNYARD_MAX_OPEN_RUN: '20' } },
    { worker: { settings: { RUNYARD_MAX_OPEN_RUN: '20' } } },
    { files: { s3: 'bucket' } },
    { sandboxes: { egress: 'allowlist' } },
    { worker: { slots: 0 } },
  ])
    assert(faults(wrong).length > 0, JSON.stringify(wrong))
  assert.deepEqual(
    faults({ settings: { RUNYARD_MAX_OPEN_RUNS: '20' }, files: { s3: 's3://acme/runyard' } }),
    [],
  )
})

test('the chart takes as settings each that the service reads, but for those that it sets itself', () => {
  const { definitions } = JSON.parse(read(`${chart}/values.schema.json`)) as {
    definitions: { settings: { propertyNames: Record<'not' | 'then', { enum: string[] }> } }
  }
  const { not, then: allowed } = definitions.settings.propertyNames
  const own = Object.keys(SETTING_TEXTS).filter((name) => name.startsWith('RUNYARD_'))
  assert.deepEqual(allowed.enum, own.filter((name) => !not.enum.includes(name)).sort())
})

test('each value of the chart is used by a template, and each that a template uses has a default', () => {
  const values = parse(read(`${chart}/values.yaml`)) as Record<string, unknown>
  const templates = files
    .filter((file) => file.startsWith(`${chart}/templates/`))
    .map(read)
    .join('\n')
  const used = [...templates.matchAll(/\.Values((?:\.\w+)+)/g)].map(([, path = '']) =>
    path.split('.').slice(1),
  )
  assert(used.length > 30)
  for (const path of used) {
    let found: unknown = values
    for (const name of path) {
      assert(typeof found === 'object' && found !== null && name in found, path.join('.'))
      found = (found as Record<string, unknown>)[name]
    }
  }
  const sections = new Set(used.map(([section]) => section))
  assert.deepEqual(
    Object.keys(values).filter((section) => !sections.has(section)),
    [],
  )
})
