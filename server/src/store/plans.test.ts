import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { onEachDatabase } from '../../test/support/databases.ts'
import { holdRun, readWholeLog } from '../../test/support/stored.ts'
import type { Db } from './db.ts'
import { putPlan } from './plans.ts'
import { readReferenceUrls, recordReference } from './run-references.ts'

onEachDatabase('plans and references', (open) => {
  let db: Db
  before(async () => {
    db = (await open()).db
  })
  const eventsOf = async (run_id: string, wanted: string) =>
    (await readWholeLog(db, run_id)).filter(({ type }) => type === wanted).map(({ data }) => data)

  test('a plan is stored by the lease alone, once however often that is said, and replaces the one before', async () => {
    const held = await holdRun(db)
    const plan = (blob_key: string) => ({
      ...{
        artifact_uid: randomUUID(),
        artifact_type: 'PLAN' as const,
        filename: 'plan.md',
        filepath: 'plan.md',
      },
      ...{ mime_type: 'text/markdown', size_bytes: 1, sha256: blob_key, blob_key, title: blob_key },
    })
    const [first, second] = [plan('one'), plan('two')]
    assert.equal(await putPlan(db, { ...held, attempt: held.attempt + 1 }, first), null)
    assert.deepEqual(await putPlan(db, held, first), { replaced: null })
    assert.deepEqual(await putPlan(db, held, first), { replaced: null }, 'Said again.')
    assert.deepEqual(await putPlan(db, held, second), { replaced: 'one' })
    assert.deepEqual(await putPlan(db, held, second), { replaced: null }, 'Said again.')
    assert.deepEqual(await putPlan(db, held, { ...second, blob_key: 'other' }), { replaced: 'other' })
    const { artifact_uid } = first
    const told = (await eventsOf(held.run_id, 'artifact.created')) as Array<Record<string, unknown>>
    assert.deepEqual(
      told.map(({ artifact_uid, title }) => ({ artifact_uid, title })),
      [
        { artifact_uid, title: 'one' },
        { artifact_uid, title: 'two' },
      ],
    )
  })

  test('a reference is stored by the lease alone, once of each address', async () => {
    const held = await holdRun(db)
    const reference = {
      ...{ artifact_uid: randomUUID(), reference_type: 'TICKET', url: 'https://tickets.example/1' },
    }
    const record = (more: object = {}, lease = held) =>
      recordReference(db, lease, { ...reference, ...more, artifact_uid: randomUUID() })
    assert.equal(await record({}, { ...held, worker_id: randomUUID() }), false)
    assert.deepEqual(await readReferenceUrls(db, held.run_id), new Set())
    assert.equal(await recordReference(db, held, reference), true)
    assert.equal(await record(), true, 'Said again.')
    assert.equal(await record({ title: 'T' }), true)
    assert.deepEqual(await readReferenceUrls(db, held.run_id), new Set([reference.url]))
    assert.deepEqual(await eventsOf(held.run_id, 'reference.reported'), [
      reference,
      { ...reference, title: 'T' },
    ])
  })
})
