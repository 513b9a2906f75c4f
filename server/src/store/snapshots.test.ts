import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { v7 as uuidv7 } from 'uuid'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { actorOf, addPrincipal, follow, holdRun } from '../../test/support/stored.ts'
import { readNamedBlobs } from './blob-keys.ts'
import type { Db } from './db.ts'
import { deliverFollowups } from './followups.ts'
import { claimRuns, type Lease, releaseRun } from './leases.ts'
import {
  confirmSnapshot,
  findHandoff,
  findSnapshot,
  findVisibleSnapshot,
  insertSnapshot,
  type NewSnapshot,
  readMoment,
  removeOlderSnapshots,
} from './snapshots.ts'
import { finishRun, startRun } from './transitions.ts'

onEitherDatabase('snapshots', (open) => {
  let db: Db
  before(async () => {
    db = (await open()).db
  })

  const newSnapshot = async (lease: Lease, more: Partial<NewSnapshot> = {}): Promise<NewSnapshot> => {
    const moment = await readMoment(db, lease)
    assert(moment)
    return {
      ...{ ...moment, snapshot_id: uuidv7(), folders: ['workspace'], commits: { repo: null } },
      ...{ backend: 'bubblewrap', sandbox_id: 'x', image: null, stamp: '1.5' },
      ...{ size_bytes: 3_000_000_000, expanded_bytes: 9_000_000_000, entries: 1, sha256: 'e3' },
      blob_key: `runs/${lease.run_id}/snapshots/${lease.attempt}-${randomUUID()}`,
      index_blob_key: `runs/${lease.run_id}/indexes/${lease.attempt}-${randomUUID()}`,
      ...more,
    }
  }
  const filesOf = ({ blob_key, index_blob_key }: NewSnapshot) => [blob_key, index_blob_key ?? '']
  /** Stores one; which blobs went for it. */
  const store = async (lease: Lease, more?: Partial<NewSnapshot>) => {
    const snapshot = await newSnapshot(lease, more)
    const removed = await insertSnapshot(db, lease, snapshot)
    return { ...snapshot, removed }
  }
  const finish = async (lease: Lease) => {
    await startRun(db, lease, { harness: 'runbook' })
    await deliverFollowups(db, lease)
    assert.equal(await finishRun(db, lease, { state: 'SUCCEEDED' }), 'finished')
  }
  /** The next execution of the run. */
  const goOn = async (held: Lease & { principal_id: string; pool: string }): Promise<Lease> => {
    await releaseRun(db, held)
    await follow(db, held.run_id, held.principal_id)
    const [lease] = await claimRuns(db, { worker_id: held.worker_id, pool: held.pool }, 1)
    assert(lease)
    return lease
  }
  const handoffOf = async ({ run_id }: Lease) => (await findHandoff(db, run_id))?.snapshot_id ?? null

  test('are stored by the lease alone, once however often that is said, in place of those before', async () => {
    const held = await holdRun(db)
    const snapshot = await newSnapshot(held)
    assert.equal(await insertSnapshot(db, { ...held, attempt: held.attempt + 1 }, snapshot), null)
    assert.equal(await insertSnapshot(db, { ...held, worker_id: randomUUID() }, snapshot), null)
    assert.equal(await readMoment(db, { ...held, worker_id: randomUUID() }), null)
    assert.equal(await findSnapshot(db, held.run_id), null)
    assert.deepEqual(await insertSnapshot(db, held, snapshot), [])
    assert.deepEqual(
      await insertSnapshot(db, held, snapshot),
      [],
      'Said again, since the answer was not heard.',
    )
    const { created_at, ...found } = (await findSnapshot(db, held.run_id)) ?? {}
    assert(created_at)
    const { run_id, attempt } = held
    assert.deepEqual(found, { ...snapshot, run_id, attempt, last_execution: 1 })
    assert.deepEqual(found.turn, 1)

    const next = await store(held)
    assert.deepEqual(next.removed, filesOf(snapshot))
    const keys = [...filesOf(snapshot), ...filesOf(next)]
    assert.deepEqual(await readNamedBlobs(db, keys), new Set(filesOf(next)))
    assert.deepEqual(await removeOlderSnapshots(db, held), [])
  })

  test('are handed off as the last execution that ended left them', async () => {
    const held = await holdRun(db)
    const first = await store(held)
    assert.equal(await handoffOf(held), null, 'It has not ended.')
    await finish(held)
    assert.equal(await handoffOf(held), first.snapshot_id)

    const second = await goOn(held)
    const [early, late] = [await store(second), await store(second)]
    assert.deepEqual([early.removed, late.removed], [[], filesOf(early)])
    assert.equal(await handoffOf(held), first.snapshot_id, 'The next one is at work.')
    assert.equal((await findSnapshot(db, held.run_id))?.snapshot_id, late.snapshot_id)
    await finish(second)
    assert.equal(await handoffOf(held), late.snapshot_id)
    assert.deepEqual(await removeOlderSnapshots(db, { ...second, worker_id: randomUUID() }), [])
    assert.deepEqual(await removeOlderSnapshots(db, second), filesOf(first))

    const third = await goOn({ ...held, ...second })
    await finish(third)
    assert.equal(await handoffOf(held), null, 'Nobody said that it was still so.')
    await confirmSnapshot(db, { ...third, worker_id: randomUUID() }, late.snapshot_id)
    assert.equal(await handoffOf(held), null)
    await confirmSnapshot(db, third, late.snapshot_id)
    assert.equal(await handoffOf(held), late.snapshot_id)
    const moment = await readMoment(db, third)
    const confirmed = await findSnapshot(db, held.run_id)
    assert.deepEqual([confirmed?.sequence, confirmed?.execution], [moment?.sequence, 2])
    assert.equal(confirmed?.last_execution, 3)
  })

  test('are seen by whom the run is seen by', async () => {
    const held = await holdRun(db)
    const { snapshot_id } = await store(held)
    const seen = async (principal_id: string) =>
      (await findVisibleSnapshot(db, snapshot_id, actorOf(principal_id)))?.snapshot_id ?? null
    assert.equal(await seen(await addPrincipal(db)), snapshot_id, 'It is the team’s.')
    assert.equal(await seen(held.principal_id), snapshot_id)
    assert.equal(await findVisibleSnapshot(db, uuidv7(), actorOf(held.principal_id)), null)
  })
})
