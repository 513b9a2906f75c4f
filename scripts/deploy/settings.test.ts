/** What one installs with names only what is there: settings that the service reads, and the version of this checkout. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { unpackTar } from 'modern-tar'
import { SETTING_TEXTS } from '../../server/src/settings.gen.ts'
import { temporaryDirectory } from '../../server/test/support/leftovers.ts'
import { EXTERNAL } from '../bundle.ts'
import { readVersion } from '../named-versions.ts'
import { packImage } from '../pack-image.ts'
import { root } from './scene.ts'

const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const version = readVersion(root)
/** Of compose: an image, and the port of this machine. No process reads them. */
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
    // What is for the other architecture is not installed here.
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
