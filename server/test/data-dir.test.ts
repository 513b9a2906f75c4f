/** Whose the data directory is, and who can read what is in it. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { apiOf, shell, spawnRunyard, startService, temporaryDirectory } from './support/service.ts'

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

/** Ends `dev` on a directory that it must refuse; what it printed. */
async function refusalOf(data_dir: string): Promise<string> {
  const child = spawnRunyard(['dev', '--port', '0', '--sandbox', 'bubblewrap', '--data-dir', data_dir])
  const code = await new Promise((resolve) => child.once('exit', resolve))
  assert.equal(code, 2, child.log())
  assert.match(child.log(), /^Starting[^\n]*\nerror: The data directory [^\n]*\n$/)
  assert.doesNotMatch(child.log(), /object Object|errno|E[A-Z]{4,}/)
  return child.log()
}

describe('the data directory', () => {
  test('that stood open is closed, and what is in it too', async () => {
    const data_dir = join(openPlace(), 'data')
    mkdirSync(data_dir)
    // As another version left it.
    mkdirSync(join(data_dir, 'db'))
    for (const name of ['lock', 'secret-key']) {
      writeFileSync(join(data_dir, name), name === 'lock' ? '' : `${'k'.repeat(43)}\n`)
      chmodSync(join(data_dir, name), 0o666)
    }
    for (const path of [data_dir, join(data_dir, 'db')]) chmodSync(path, 0o755)
    const service = await startService({ data_dir })
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
    } finally {
      await service.stop()
    }
  })

  test('lets no other user read the database', { skip: needs_root }, async () => {
    const data_dir = join(openPlace(), 'data')
    mkdirSync(data_dir, { mode: 0o755 })
    const service = await startService({ data_dir })
    try {
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
    const shared = openPlace()
    chmodSync(shared, 0o1777)
    assert.match(await refusalOf(shared), /used for other things/)
    assert.equal(lstatSync(shared).mode & 0o7777, 0o1777)
  })

  test('that is none is refused with what it is', async () => {
    const place = openPlace()
    writeFileSync(join(place, 'file'), '')
    assert.match(await refusalOf(join(place, 'file')), /is a file/)
    assert.match(await refusalOf(join(place, 'file', 'below')), /lies below a file/)
    symlinkSync('nowhere', join(place, 'dangling'))
    assert.match(await refusalOf(join(place, 'dangling')), /link that leads nowhere/)
    assert.match(await refusalOf('/proc/runyard'), /cannot be (made there|written)/)
  })

  const mount = (options: string[], place: string) =>
    execFileSync('mount', ['-t', 'tmpfs', ...options, 'none', place])
  test('on a read-only file system is refused', { skip: needs_root }, async () => {
    const place = openPlace()
    mount(['-o', 'ro,mode=700'], place)
    try {
      assert.match(await refusalOf(join(place, 'data')), /read-only/)
      assert.match(await refusalOf(place), /read-only/)
    } finally {
      execFileSync('umount', [place])
    }
  })

  for (const kilobytes of [0, 4_000, 20_000]) {
    test(`on a disk with ${kilobytes} kB free is refused`, { skip: needs_root }, async () => {
      const place = openPlace()
      mount(['-o', `size=${kilobytes + 4}k,mode=755`], place)
      if (kilobytes === 0) writeFileSync(join(place, 'full'), 'x')
      try {
        assert.match(await refusalOf(join(place, 'data')), /full disk/)
      } finally {
        execFileSync('umount', [place])
      }
    })
  }
})
