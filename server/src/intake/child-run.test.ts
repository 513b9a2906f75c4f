import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { temporaryDirectory } from '../../test/support/service.ts'
import { holdRun } from '../../test/support/stored.ts'
import { openDiskBlobs } from '../blobs/disk.ts'
import { LOOP } from '../contract/harness-fields.ts'
import { openKeyring } from '../sealing/keyring.ts'
import { listAudit } from '../store/audit-log.ts'
import type { Db } from '../store/db.ts'
import { removeGrants, replaceGrants } from '../store/grants.ts'
import { ORPHANED } from '../store/principals.ts'
import { countBelow } from '../store/quotas.ts'
import { readRuns } from '../store/runs.ts'
import { createChild, MAX_CHILDREN, MAX_TREE } from './child-run.ts'

onEitherDatabase('child runs', (open) => {
  let db: Db
  let create: (
    lease: Awaited<ReturnType<typeof holdRun>>,
    key: string,
    prompt?: string,
  ) => ReturnType<typeof createChild>
  before(async () => {
    db = (await open()).db
    const services = {
      ...{ db, blobs: openDiskBlobs(temporaryDirectory('blobs')), max_run_files_bytes: 1 },
      open_runs: { principal: 0, total: 0 },
      ...{ seal_key: openKeyring('a secret key of tests'), default_pool: 'default', harnesses: [LOOP] },
    }
    create = (lease, key, prompt = 'Do a part.') => createChild(services, lease, { prompt }, key)
  })

  test('one is created once for each call, however often and at once it is asked for', async () => {
    const held = await holdRun(db)
    const again = await Promise.all(
      [1, 2, 3, 4].map(() => create(held, 'call-1').catch((error: unknown) => error)),
    )
    const ids = again.flatMap((made) =>
      made && typeof made === 'object' && 'run_id' in made ? [made.run_id] : [],
    )
    const [first] = ids
    assert(typeof first === 'string')
    assert.deepEqual(new Set(ids), new Set([first]))
    assert.deepEqual(await create(held, 'call-1'), {
      run_id: first,
      pool: held.pool,
      ancestor_run_ids: [held.run_id],
    })
    assert.deepEqual(await countBelow(db, held.run_id, 100), { all: 1, children: 1 })
    const { entries } = await listAudit(db, { target: first })
    assert.deepEqual(
      entries.map(({ action, via, principal_id, detail }) => [action, via, principal_id, detail]),
      [['createRun', 'service', held.principal_id, `spawn_run of run ${held.run_id}`]],
    )
    const other = await create(held, 'call-2')
    assert('run_id' in other && other.run_id !== first)
    assert('run_id' in (await create(held, 'x'.repeat(100_000))))
    // The call of another run is another call.
    const elsewhere = await create(await holdRun(db), 'call-1')
    assert('run_id' in elsewhere && elsewhere.run_id !== first)
  })

  test('one has what is left of the budget of its parent, and there is none when that is spent', async () => {
    const held = await holdRun(db)
    const spend = (tokens: number) =>
      sql`update runs set request = ${JSON.stringify({ budget: { max_tokens: 1_000, max_cost_usd: 2 } })}::jsonb,
        input_tokens = ${tokens}::bigint, inference_cost_usd = 0.5 where run_id = ${held.run_id}`.execute(db)
    await spend(400)
    const made = await create(held, 'call-1')
    const [child] = 'run_id' in made ? await readRuns(db, [made.run_id]) : []
    assert.deepEqual(child?.request.budget, { max_tokens: 600, max_cost_usd: 1.5 })
    assert.deepEqual([child?.pool, child?.principal_id, child?.scope], [held.pool, held.principal_id, 'Team'])
    await spend(1_000)
    assert.deepEqual(await create(held, 'call-2'), {
      refusal: 'budget.max_tokens: the parent run has spent its budget.',
    })
    // The call that has made one still has it.
    assert.deepEqual(await create(held, 'call-1'), made)
  })

  test('one is where its parent is, granted to that or not, and none is of a deleted identity', async () => {
    const held = await holdRun(db)
    const others = (await holdRun(db)).principal_id
    await replaceGrants(db, { resource_type: 'pool', resource_id: held.pool }, [others], others)
    const made = await create(held, 'call-1')
    const [child] = 'run_id' in made ? await readRuns(db, [made.run_id]) : []
    assert.equal(child?.pool, held.pool)
    await removeGrants(db, { resource_type: 'pool', resource_id: held.pool })
    await sql`update principals set disabled = true where principal_id = ${held.principal_id}`.execute(db)
    assert.deepEqual(await create(held, 'call-2'), { refusal: ORPHANED })
  })

  test('one whose parent an identity executes is charged to the parent’s creator, and so are those below it', async () => {
    const held = await holdRun(db)
    const creator_id = (await holdRun(db)).principal_id
    await sql`update runs set creator_id = ${creator_id}::uuid where run_id = ${held.run_id}`.execute(db)
    const made = await create(held, 'call-1')
    const [child] = 'run_id' in made ? await readRuns(db, [made.run_id]) : []
    assert.deepEqual([child?.creator_id, child?.charged_to], [held.principal_id, creator_id])
  })

  test('what its parent has to ask for, it has to ask for', async () => {
    const held = await holdRun(db)
    const permissions = [{ tool: 'bash', pattern: 'git push*', action: 'ask' }]
    await sql`update runs set config = config || ${JSON.stringify({ permissions })}::jsonb
      where run_id = ${held.run_id}`.execute(db)
    const made = await create(held, 'call-1')
    const [child] = 'run_id' in made ? await readRuns(db, [made.run_id]) : []
    assert.deepEqual(child?.config.permissions, permissions)
    assert.deepEqual(child?.rules_above, [permissions])
  })

  test('what goes on in place of its parent’s model goes on in place of its own', async () => {
    const held = await holdRun(db)
    const fallback_model_ids = ['second/m']
    await sql`update runs set config = ${JSON.stringify({ fallback_model_ids })}::jsonb
      where run_id = ${held.run_id}`.execute(db)
    const made = await create(held, 'call-1')
    const [child] = 'run_id' in made ? await readRuns(db, [made.run_id]) : []
    assert.deepEqual(child?.config.fallback_model_ids, fallback_model_ids)
  })

  test('children of children are counted together', async () => {
    const held = await holdRun(db)
    const made = await create(held, 'call-0')
    assert('run_id' in made)
    // As if runs of others were below this one.
    await sql`insert into runs select (r).* from (select jsonb_populate_record(c, jsonb_build_object(
        'run_id', gen_random_uuid(), 'ancestor_run_ids', array[${held.run_id}::uuid, c.run_id], 'parent_run_id', c.run_id)) as r
      from runs c, generate_series(1, ${MAX_TREE - 1}::int) where c.run_id = ${made.run_id}) copies`.execute(
      db,
    )
    const refused = await create(held, 'call-1')
    assert.match('refusal' in refused ? refused.refusal : '', /100 runs below the first one of this tree/)
  })

  test('of calls at once no more are granted than there is room for', async () => {
    const held = await holdRun(db)
    const made = await Promise.all(
      Array.from({ length: MAX_CHILDREN + 10 }, (_, at) => create(held, `call-${at}`)),
    )
    const refused = made.filter((child) => 'refusal' in child)
    assert.deepEqual(
      new Set(refused.map(({ refusal }) => refusal)),
      new Set(['A run creates at most 20 others.']),
    )
    assert.equal(refused.length, 10)
    assert.deepEqual(await countBelow(db, held.run_id, MAX_TREE), {
      all: MAX_CHILDREN,
      children: MAX_CHILDREN,
    })
  })

  test('none is created below a run that is lost or over', async () => {
    const held = await holdRun(db)
    for (const lease of [
      { ...held, attempt: held.attempt + 1 },
      { ...held, worker_id: randomUUID() },
    ])
      assert.deepEqual(await create(lease, 'call-1'), { refusal: 'This run is over.' })
    assert.deepEqual(await countBelow(db, held.run_id, 100), { all: 0, children: 0 })
  })
})
