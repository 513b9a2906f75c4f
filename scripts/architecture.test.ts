/** The picture in docs/architecture.md has the arrows that `npm run check` allows, and no others. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { RULES } from './rooms.ts'

const root = new URL('../', import.meta.url)
const ROOM = /^server\/src\/([\w-]+)$/

test('the picture of the server has the arrows of the import rules', () => {
  const page = readFileSync(new URL('docs/architecture.md', root), 'utf8')
  const drawn = [...page.matchAll(/^ {2}([\w-]+) (-->|-\.->) ([\w-]+)$/gm)].map(
    ([, from, arrow, to]) => `${from} ${arrow} ${to}`,
  )
  const allowed = Object.entries(RULES).flatMap(([room, targets]) => {
    const from = ROOM.exec(room)?.[1]
    if (from === undefined) return []
    return targets
      .filter((target) => existsSync(new URL(target, root)))
      .map((target) => {
        const [, to, file] = /^server\/src\/([\w-]+)(\/.+\.ts)?$/.exec(target) ?? []
        return `${from} ${file ? '-.->' : '-->'} ${to}`
      })
  })
  assert(drawn.length > 10)
  // Of some rooms several files may be imported.
  assert.deepEqual(drawn.sort(), [...new Set(allowed)].sort())
})

test('each room is described, and each file that is named is there', () => {
  const page = readFileSync(new URL('docs/architecture.md', root), 'utf8')
  const rooms = Object.keys(RULES).flatMap((room) =>
    existsSync(new URL(room, root)) ? (ROOM.exec(room)?.[1] ?? []) : [],
  )
  for (const room of rooms) assert(page.includes(`| \`${room}\` |`), room)
  for (const [, file = ''] of page.matchAll(/`((?:\w[\w-]*\/)+[\w.-]+\.(?:ts|sql))`/g))
    assert(existsSync(new URL(`server/src/${file}`, root)), file)
})
