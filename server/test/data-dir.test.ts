/** Whose the data directory is, and who can read what is in it. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { readSecretKey } from '../src/data-dir.ts'
import { runCommand } from './support/command.ts'
import { createMigrated, stopTestServer } from './support/databases.ts'
import { LONG, onlyLong } from './support/once.ts'
import { findPostgres } from './support/postgres-server.ts'
import { apiOf, shell, startDevProcess, temporaryDirectory } from './support/service.ts'

const is_root = process.getuid?.() === 0
const needs_root = is_root ? false : 'only root can be two users'
const SOMEBODY = 4242

/** A place that everybody may pass through, as `/srv` is. */
function openPlace(): string {
  const place = temporaryDirectory('place')
  chmodSync(place, 0o755)
  return place
}

const everythingIn = (path: string): string[] => {
  if (!lstatSync(path).isDirectory()) return [path]
  return [path, ...readdirSync(path).flatMap((name) => everythingIn(join(path, name)))]
}

const COMMANDS = {
  dev: ['dev', '--port', '0', '--sandbox', 'bubblewrap'],
  migrate: ['migrate'],
  keys: ['keys', 'create', '--name', 'ci'],
  serve: ['serve', '--port', '0'],
  worker: ['worker', '--sandbox', 'bubblewrap'],
}

/** Ends a command on a directory that it must refuse; what it printed. */
async function refusalOf(
  data_dir: string,
  command: keyof typeof COMMANDS = 'dev',
  env: Record<string, string> = {},
): Promise<string> {
  const { code, stderr: said } = await runCommand(COMMANDS[command], { RUNYARD_DATA_DIR: data_dir, ...env })
  assert.equal(code, 2, said)
  assert.match(said, /^(Starting[^\n]*\n)?error: The data directory [^\n]*\n$/)
  // The name of a temporary folder may hold any letters.
  assert.doesNotMatch(said.replaceAll(data_dir, ''), /object Object|errno|E[A-Z]{4,}/)
  return said
}

describe('the data directory', () => {
  test('that stood open is closed, and what is in it too: no other user reads it', async () => {
    const data_dir = join(openPlace(), 'data')
    mkdirSync(data_dir)
    // As another version left it.
    mkdirSync(join(data_dir, 'db'))
    for (const name of ['lock', 'secret-key']) {
      writeFileSync(join(data_dir, name), name === 'lock' ? '' : `${'k'.repeat(43)}\n`)
      chmodSync(join(data_dir, name), 0o666)
    }
    for (const path of [data_dir, join(data_dir, 'db')]) chmodSync(path, 0o755)
    const service = await startDevProcess({ data_dir })
    try {
      const api = apiOf(service)
      const run = await api.ended(await api.create({ prompt: shell('umask; echo made > artifacts/made') }))
      assert.equal(run.state, 'SUCCEEDED')
      assert.equal(run.artifacts.length, 1)
      assert.equal(lstatSync(data_dir).mode & 0o777, 0o700)
      const private_paths = ['db', 'lock', 'secret-key', 'blobs'].flatMap((name) =>
        everythingIn(join(data_dir, name)),
      )
      assert(private_paths.length > 100)
      for (const path of private_paths) {
        const { mode } = lstatSync(path)
        assert.equal(mode & 0o077, 0, `${path}: ${(mode & 0o777).toString(8)}`)
      }
      // Inside a sandbox files have the modes they have everywhere.
      const events = await api.events(run.run_id)
      assert.match(JSON.stringify(events), /0022/)
      if (!is_root) return
      const user = ['--reuid', String(SOMEBODY), '--regid', String(SOMEBODY), '--clear-groups', '--']
      const search = ['find', data_dir, '-type', 'f', '-readable']
      const found = spawnSync('setpriv', [...user, ...search], { encoding: 'utf8' })
      assert.equal(found.stdout, '')
      assert.match(found.stderr, /Permission denied/)
    } finally {
      await service.stop()
    }
  })

  test('of another user is refused', { skip: needs_root }, async () => {
    const theirs = join(openPlace(), 'data')
    mkdirSync(theirs)
    chownSync(theirs, SOMEBODY, SOMEBODY)
    assert.match(await refusalOf(theirs), /belongs to the user 4242, and this process runs as the user 0/)
    assert.deepEqual(readdirSync(theirs), [])
  })

  test('behind a link of another user is refused', { skip: needs_root }, async () => {
    const place = openPlace()
    mkdirSync(join(place, 'data'))
    const link = join(place, 'link')
    symlinkSync(join(place, 'data'), link)
    execFileSync('chown', ['-h', String(SOMEBODY), link])
    assert.match(await refusalOf(link), /belongs to the user 4242/)
  })

  test('that others use is left open and refused', async () => {
    const place = openPlace()
    writeFileSync(join(place, 'notes.txt'), 'of somebody')
    assert.match(await refusalOf(place), /used for other things.*Choose an empty one/)
    assert.equal(lstatSync(place).mode & 0o777, 0o755)
    if (!LONG) return
    const shared = openPlace()
    chmodSync(shared, 0o1777)
    assert.match(await refusalOf(shared), /used for other things/)
    assert.equal(lstatSync(shared).mode & 0o7777, 0o1777)
  })

  test('that is none is refused with what it is', async () => {
    const place = openPlace()
    writeFileSync(join(place, 'file'), '')
    assert.match(await refusalOf(join(place, 'file')), /is a file/)
    if (LONG) assert.match(await refusalOf(join(place, 'file', 'below')), /lies below a file/)
    symlinkSync('nowhere', join(place, 'dangling'))
    assert.match(await refusalOf(join(place, 'dangling')), /link that leads nowhere/)
    assert.match(await refusalOf('/proc/runyard'), /cannot be (made there|written)/)
  })

  const mount = (options: string[], place: string) =>
    execFileSync('mount', ['-t', 'tmpfs', ...options, 'none', place])
  /** A disk of its own for as long as `use` takes. */
  async function onDisk(options: string, use: (place: string) => Promise<void>): Promise<void> {
    const place = openPlace()
    mount(['-o', options], place)
    await use(place).finally(() => execFileSync('umount', ['-l', place]))
  }

  test('on a read-only file system is refused', { skip: needs_root }, () =>
    onDisk('ro,mode=700', async (place) => {
      assert.match(await refusalOf(join(place, 'data')), /read-only/)
      if (LONG) assert.match(await refusalOf(place, 'migrate'), /read-only/)
    }),
  )

  for (const kilobytes of [0, 4_000, 12_000]) {
    // Where each of the steps of a start finds the disk full.
    const registered = kilobytes === 12_000 ? test : onlyLong
    registered(`on a disk with ${kilobytes} kB free is refused`, { skip: needs_root }, () =>
      onDisk(`size=${kilobytes + 4}k,mode=755`, async (place) => {
        if (kilobytes === 0) writeFileSync(join(place, 'full'), 'x')
        assert.match(await refusalOf(join(place, 'data')), /full disk/)
      }),
    )
  }

  for (const files of [1, 2, 20]) {
    const registered = files === 20 ? test : onlyLong
    registered(`on a disk that takes ${files} files is refused`, { skip: needs_root }, () =>
      onDisk(`nr_inodes=${files},mode=755`, async (place) => {
        const command = files === 20 ? 'migrate' : 'dev'
        assert.match(await refusalOf(join(place, 'data'), command), /takes no more files/)
      }),
    )
  }

  const needs_both =
    needs_root || (findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'no PostgreSQL')
  test('is named too by what works on PostgreSQL', { skip: needs_both }, async () => {
    const database = await createMigrated()
    const env = { DATABASE_URL: database.url, RUNYARD_ALLOW_WEAK_LIMITS: '1' }
    const secret = { ...env, RUNYARD_SECRET_KEY: 'k'.repeat(32) }
    await onDisk('size=4k,mode=755', async (place) => {
      const fill = join(place, 'full')
      writeFileSync(fill, 'x')
      const data_dir = join(place, 'data')
      if (LONG) assert.match(await refusalOf(data_dir, 'serve', env), /full disk/)
      assert.match(await refusalOf(data_dir, 'worker', env), /full disk/)
      // What did not fit left nothing that a later start would take for the key.
      rmSync(fill)
      assert(readSecretKey(data_dir, undefined).length >= 32)
    })
    if (LONG)
      await onDisk('nr_inodes=8,mode=755', async (place) => {
        assert.match(await refusalOf(join(place, 'data'), 'worker', secret), /takes no more files/)
      })
    await database.drop()
    await stopTestServer()
  })
})
