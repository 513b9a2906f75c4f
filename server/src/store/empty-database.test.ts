import assert from 'node:assert/strict'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { CACHE_DIR, temporaryDirectory } from '../../test/support/service.ts'
import { openEmbedded } from './embedded.ts'
import { putEmptyDatabase } from './empty-database.ts'
import { readInstallation } from './installation.ts'
import { pendingMigrations } from './migrate.ts'

/** What makes a database of a few files, and where it has. */
function createMaker() {
  const made: string[] = []
  const make = async (directory: string): Promise<void> => {
    made.push(directory)
    mkdirSync(join(directory, 'base'))
    writeFileSync(join(directory, 'base', '1'), 'row')
    writeFileSync(join(directory, 'PG_VERSION'), '17')
  }
  return { made, make }
}
const rowsOf = (directory: string): string => readFileSync(join(directory, 'base', '1'), 'utf8')

test('is made once and given to many; one that is there stays as it is', async () => {
  const { made, make } = createMaker()
  const [cache, place] = [join(temporaryDirectory('cache'), 'runyard'), temporaryDirectory('place')]
  for (const name of ['a', 'b', 'a']) {
    await putEmptyDatabase(join(place, name), cache, 'schema', make)
    appendFileSync(join(place, name, 'base', '1'), 's')
  }
  assert.deepEqual(
    ['a', 'b'].map((name) => rowsOf(join(place, name))),
    ['rowss', 'rows'],
  )
  assert.equal(made.length, 1)
  assert.equal(readdirSync(cache).length, 1)
  assert.deepEqual(readdirSync(place).sort(), ['a', 'b'])
})

test('is kept once where several make it at the same time, and what they left half made goes', async () => {
  const { make } = createMaker()
  const [cache, place] = [temporaryDirectory('cache'), temporaryDirectory('place')]
  const leftover = join(cache, 'database-draft-old')
  mkdirSync(leftover)
  utimesSync(leftover, 0, 0)
  writeFileSync(join(cache, 'other'), 'of somebody')
  mkdirSync(join(place, 'a-draft', 'base'), { recursive: true })
  await Promise.all(['a', 'b', 'c'].map((name) => putEmptyDatabase(join(place, name), cache, 'schema', make)))
  for (const name of ['a', 'b', 'c']) assert.equal(rowsOf(join(place, name)), 'row')
  assert.deepEqual(readdirSync(place).sort(), ['a', 'b', 'c'])
  const [kept, ...others] = readdirSync(cache).sort()
  assert.deepEqual([/^database-\d/.test(kept ?? ''), others], [true, ['other']])
})

test('is not needed: where it cannot be made or kept, nothing is put anywhere', async () => {
  const place = temporaryDirectory('place')
  const [file, directory] = [join(place, 'file'), join(place, 'db')]
  writeFileSync(file, '')
  await putEmptyDatabase(directory, file, 'schema', createMaker().make)
  const cache = join(place, 'cache')
  await putEmptyDatabase(directory, cache, 'schema', async (draft) => {
    writeFileSync(join(draft, 'half'), '')
    throw new Error('The disk is full.')
  })
  assert.deepEqual([existsSync(directory), readdirSync(cache)], [false, []])
  const store = await openEmbedded(directory, file)
  await store.close()
  assert(existsSync(join(directory, 'PG_VERSION')))
})

test('belongs to nobody and is migrated: each installation made of it has an id of its own', async () => {
  const place = temporaryDirectory('place')
  const ids = new Set<string>()
  for (const name of ['a', 'b', 'a']) {
    const store = await openEmbedded(join(place, name), CACHE_DIR)
    assert.equal(await pendingMigrations(store.db), 0)
    ids.add(await readInstallation(store.db))
    await store.close()
  }
  assert.equal(ids.size, 2)
})
