import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onEachDatabase } from '../../test/support/databases.ts'
import { actorOf, addPrincipal, addRun } from '../../test/support/stored.ts'
import type { Db } from './db.ts'
import { listRuns } from './run-list.ts'
import { readRuns } from './runs.ts'
import { json } from './storable.ts'

const BROKEN = `a\0b\ud800c\\u0000`
const WHOLE = `a\ufffdb\ufffdc\\u0000`

onEachDatabase('what is stored', (open) => {
  let db: Db
  let viewer = ''
  before(async () => {
    db = (await open()).db
    viewer = await addPrincipal(db)
  })

  test('is made storable, as text, in lists of texts and in JSON, keys included', async () => {
    const { rows } = await sql<{ text: string; list: string[]; value: unknown }>`
      select ${BROKEN}::text as text, ${[BROKEN, 'x']}::text[] as list,
        ${json({ [BROKEN]: [BROKEN, { deep: BROKEN }], same: '\\u0000' })} as value`.execute(db)
    assert.deepEqual(rows[0], {
      text: WHOLE,
      list: [WHOLE, 'x'],
      value: { [WHOLE]: [WHOLE, { deep: WHOLE }], same: '\\u0000' },
    })
  })

  test('a run is stored whatever its texts hold, and an index takes the longest', async () => {
    const skill_spec = `${'漢'.repeat(1_023)}\0`
    const title = '漢'.repeat(512)
    const run_id = await addRun(db, viewer, {
      title,
      prompt: BROKEN.repeat(1_000),
      skill_spec,
      name: '漢'.repeat(256),
      model_id: '漢'.repeat(256),
      request: { on_behalf_of: BROKEN },
    })
    const [run] = await readRuns(db, [run_id])
    assert.equal(run?.prompt, WHOLE.repeat(1_000))
    assert.equal(run?.request.on_behalf_of, WHOLE)
    const found = await listRuns(db, { skill: skill_spec, sort_by: 'agent' }, actorOf(viewer))
    assert.deepEqual(
      found.runs.map((item) => item.run_id),
      [run_id],
    )
    assert.equal((await listRuns(db, { q: title }, actorOf(viewer))).runs.length, 1)
  })
})

test('nobody writes JSON into a statement by hand', () => {
  for (const file of readdirSync(new URL('.', import.meta.url)).filter((name) =>
    /(?<!\.test)\.ts$/.test(name),
  )) {
    const text = readFileSync(new URL(file, import.meta.url), 'utf8')
    assert.doesNotMatch(text, /\$\{JSON\.stringify\([^}]*\)\}::jsonb/, file)
  }
})
