import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { actorOf, addPrincipal, addRun, holdRun } from '../../test/support/stored.ts'
import { type ListRunsQuery, type RunSourceType, SORT_KEYS } from '../contract/run.ts'
import type { Db } from './db.ts'
import { recordPullStatus, recordPush } from './pushes.ts'
import { listRuns, selectPage } from './run-list.ts'
import { recordReference } from './run-references.ts'
import { findRun } from './runs.ts'

const TITLES = ['alpha', 'Alpha', 'same', 'same', 'same', 'Ölwechsel', 'zulu', '']
const SKILLS = [null, 'a:deploy', 'a:deploy', null, 'b:test', null, null]

onEitherDatabase('list', (open) => {
  let db: Db
  let viewer = ''
  before(async () => {
    db = (await open()).db
    viewer = await addPrincipal(db)
    for (let i = 0; i < 41; i += 1) {
      await addRun(db, viewer, {
        title: TITLES[i % TITLES.length] ?? '',
        skill_spec: SKILLS[i % SKILLS.length] ?? null,
        metadata: { set: 'old' },
      })
    }
    // Many runs of one moment, as a busy service has them.
    await sql`update runs set created_at = date_trunc('second', created_at), updated_at = date_trunc('second', updated_at)`.execute(
      db,
    )
  })

  const old: ListRunsQuery = { metadata: { set: 'old' }, limit: 500 }

  for (const sort_by of SORT_KEYS) {
    for (const sort_order of ['asc', 'desc'] as const) {
      test(`pages by ${sort_by} ${sort_order} neither repeat nor skip while runs are created`, async () => {
        const whole = (await listRuns(db, { ...old, sort_by, sort_order }, actorOf(viewer))).runs
        assert.equal(whole.length, 41)
        const seen: string[] = []
        let cursor: string | null | undefined
        for (let page = 0; cursor !== null; page += 1) {
          const query = { limit: 6, sort_by, sort_order, ...(cursor ? { cursor } : {}) }
          const { runs, next_cursor } = await listRuns(db, query, actorOf(viewer))
          assert(runs.length === 6 || next_cursor === null)
          seen.push(...runs.filter((run) => run.metadata.set === 'old').map((run) => run.run_id))
          cursor = next_cursor
          // Newer runs sort anywhere: before the page, behind it, among its ties.
          if (page < 6) {
            await addRun(db, viewer, {
              title: TITLES[page] ?? '',
              skill_spec: SKILLS[page] ?? null,
              metadata: { set: 'new' },
            })
          }
        }
        assert.deepEqual(
          seen,
          whole.map((run) => run.run_id),
        )
      })
    }
  }

  test('titles sort by code point, on every database and in every locale', async () => {
    const { runs } = await listRuns(db, { ...old, sort_by: 'title', sort_order: 'asc' }, actorOf(viewer))
    const titles = [...new Set(runs.map((run) => run.title))]
    assert.deepEqual(titles, ['', 'Alpha', 'alpha', 'same', 'zulu', 'Ölwechsel'])
  })

  test('runs without a skill come last, whichever way', async () => {
    for (const sort_order of ['asc', 'desc'] as const) {
      const { runs } = await listRuns(db, { ...old, sort_by: 'agent', sort_order }, actorOf(viewer))
      const skills = runs.map((run) => run.skill_spec)
      assert.equal(skills.indexOf(null), skills.filter((skill) => skill !== null).length)
      assert.equal(skills[0], sort_order === 'asc' ? 'a:deploy' : 'b:test')
    }
  })

  test('personal runs are listed for their owner, with filters and pages too', async () => {
    const owner = await addPrincipal(db)
    const run_id = await addRun(db, owner, { scope: 'User', title: 'mine', metadata: { set: 'personal' } })
    for (const query of [{}, { q: 'mine' }, { creator: owner }, { metadata: { set: 'personal' } }]) {
      const idsFor = async (who: string) =>
        (await listRuns(db, { ...query, limit: 500 }, actorOf(who))).runs.map((run) => run.run_id)
      assert((await idsFor(owner)).includes(run_id))
      assert(!(await idsFor(viewer)).includes(run_id))
    }
  })

  test('runs are found by every address that they produced, by who may see them', async () => {
    const held = await holdRun(db)
    const find = async (reference_url: string, who = viewer) =>
      (await listRuns(db, { reference_url }, actorOf(who))).runs.map((run) => run.run_id)
    const push = { directory: 'site', repository: 'git.example/a', branch: 'b', commit: 'c'.repeat(40) }
    const [branch, ticket] = ['https://git.example/a/tree/b', `https://tickets.example/${'1'.repeat(4000)}`]
    const pull_request = { number: 7, url: 'https://git.example/a/pull/7' }
    for (const more of [{ url: branch }, { url: pull_request.url, pull_request }])
      await recordPush(db, held, { ...push, ...more, artifact_uid: randomUUID() })
    for (const url of [`${ticket}/#first`, `${ticket}/`])
      await recordReference(db, held, { reference_type: 'TICKET', url, artifact_uid: randomUUID() })
    for (const url of [branch, pull_request.url, ticket])
      assert.deepEqual(await find(url), [held.run_id], url)
    assert.deepEqual(await find('https://git.example/a/pull'), [])
    await sql`update runs set scope = 'User' where run_id = ${held.run_id}`.execute(db)
    assert.deepEqual([await find(branch), await find(branch, held.principal_id)], [[], [held.run_id]])
  })

  test('a run is found by the beginning of its id, by who may see it', async () => {
    const metadata = { set: 'prefix' }
    const [one, two] = [await addRun(db, viewer, { metadata }), await addRun(db, viewer, { metadata })]
    const owner = await addPrincipal(db)
    const hidden = await addRun(db, owner, { scope: 'User', metadata })
    const find = async (run_id_prefix: string, who = viewer) =>
      (await listRuns(db, { run_id_prefix, metadata, limit: 500 }, actorOf(who))).runs
        .map((run) => run.run_id)
        .sort()
    for (let length = 1; length <= one.length; length += 1) {
      const beginning = one.slice(0, length)
      const wanted = [one, two].filter((run_id) => run_id.startsWith(beginning)).sort()
      assert.deepEqual(await find(beginning), wanted, beginning)
    }
    assert.deepEqual([await find(hidden), await find(hidden, owner)], [[], [hidden]])
    assert.deepEqual(await find('ffffffff-'), [])
  })

  test('a run is found by the end of its id, by who may see it', async () => {
    const metadata = { set: 'suffix' }
    const [one, two] = [await addRun(db, viewer, { metadata }), await addRun(db, viewer, { metadata })]
    const owner = await addPrincipal(db)
    const hidden = await addRun(db, owner, { scope: 'User', metadata })
    const find = async (run_id_suffix: string, who = viewer) =>
      (await listRuns(db, { run_id_suffix, metadata, limit: 500 }, actorOf(who))).runs.map(
        (run) => run.run_id,
      )
    for (let length = 6; length <= one.length; length += 1) {
      const end = one.slice(-length)
      const wanted = [one, two].filter((run_id) => run_id.endsWith(end))
      assert.deepEqual((await find(end)).sort(), wanted.sort(), end)
    }
    assert.deepEqual([await find(hidden.slice(-8)), await find(hidden.slice(-8), owner)], [[], [hidden]])
    const last = one.at(-1) === 'f' ? 'e' : 'f'
    assert.deepEqual(await find(one.slice(-8, -1) + last), [])
  })

  test('`me` is who asks', async () => {
    const [owner, other] = [await addPrincipal(db), await addPrincipal(db)]
    const run_id = await addRun(db, owner)
    for (const query of [{ creator: 'me' }, { executor: 'me' }]) {
      const find = async (who: string) =>
        (await listRuns(db, query, actorOf(who))).runs.map((run) => run.run_id)
      assert.deepEqual([await find(owner), await find(other)], [[run_id], []])
    }
  })

  test('a search takes its text as it is', async () => {
    const add = (title: string) => addRun(db, viewer, { title, metadata: { set: 'search' } })
    const [percent, plain] = [await add('100% \\ _done_'), await add('1000 done')]
    const find = async (q: string) =>
      (await listRuns(db, { q, metadata: { set: 'search' } }, actorOf(viewer))).runs.map((run) => run.run_id)
    assert.deepEqual(await find('100%'), [percent])
    assert.deepEqual(await find('\\ _D'), [percent])
    assert.deepEqual(await find('_done'), [percent])
    assert.deepEqual((await find('DONE')).sort(), [percent, plain].sort())
    assert.deepEqual(await find("' or true --"), [])
  })

  test('a whole id or an address finds its run, and runs whose text has it', async () => {
    const metadata = { set: 'address' }
    const run_id = await addRun(db, viewer, { metadata })
    const about = await addRun(db, viewer, { metadata, prompt: `Go on with ${run_id}.` })
    const owner = await addPrincipal(db)
    const hidden = await addRun(db, owner, { scope: 'User', metadata })
    const find = async (q: string) =>
      (await listRuns(db, { q, metadata }, actorOf(viewer))).runs.map((run) => run.run_id).sort()
    assert.deepEqual(await find(run_id), [run_id, about].sort())
    assert.deepEqual(await find(` ${run_id.toUpperCase()} `), [run_id])
    for (const address of ['http://localhost:8080/sessions/', 'https://runs.example/base/api/v1/agent/runs/'])
      for (const rest of ['', '/transcript', '?tab=files#access=1.2'])
        assert.deepEqual(await find(address + run_id + rest), [run_id], address + rest)
    assert.deepEqual(await find(hidden), [])
    assert.deepEqual(await find(`https://runs.example/environments/${run_id}`), [])
  })

  test('the status of a task looks at the runs below it that the caller may see', async () => {
    const metadata = { set: 'status' }
    const owner = await addPrincipal(db)
    const below = (run_id: string, scope: 'Team' | 'User' = 'Team') =>
      addRun(db, owner, {
        ...{ scope, parent_run_id: run_id, root_run_id: run_id, ancestor_run_ids: [run_id] },
        metadata: { set: 'child' },
      })
    const [done, parent, quiet, broken, stuck] = await Promise.all(
      Array.from({ length: 5 }, () => addRun(db, viewer, { metadata })),
    )
    assert(done && parent && quiet && broken && stuck)
    const states = {
      [done]: 'SUCCEEDED',
      [parent]: 'SUCCEEDED',
      [quiet]: 'FAILED',
      [broken]: 'ERROR',
      [stuck]: 'BLOCKED',
    }
    for (const [run_id, state] of Object.entries(states))
      await sql`update runs set state = ${state} where run_id = ${run_id}`.execute(db)
    await below(parent)
    await below(quiet, 'User')
    const find = async (task_status: ListRunsQuery['task_status'], who = viewer) =>
      (await listRuns(db, { task_status, metadata }, actorOf(who))).runs.map((run) => run.run_id).sort()
    assert.deepEqual(await find(['running']), [parent])
    assert.deepEqual(await find(['running'], owner), [parent, quiet].sort())
    assert.deepEqual(await find(['failed', 'blocked']), [quiet, broken, stuck].sort())
    assert.deepEqual(await find(['complete']), [done, parent].sort())
    assert.deepEqual(await find(['cancelled']), [])
  })

  test('runs need attention while somebody has to act on them', async () => {
    const metadata = { set: 'attention' }
    const add = async (state: string, status_message: object = {}, created_at = new Date()) => {
      const run_id = await addRun(db, viewer, { metadata })
      await sql`update runs set state = ${state}, status_message = ${JSON.stringify(status_message)}::jsonb,
        created_at = ${created_at} where run_id = ${run_id}`.execute(db)
      return run_id
    }
    const broken = { message: 'No.', error_code: 'environment_setup_failed' }
    const push = async (state: string, branch?: string) => {
      const held = await holdRun(db)
      const { run_id } = held
      const url = `https://git.example/acme/shop/pull/${randomUUID()}`
      const pushed = { directory: 'shop', repository: 'git.example/acme/shop', commit: 'c'.repeat(40), url }
      await recordPush(db, held, {
        ...{ artifact_uid: randomUUID(), branch: branch ?? `runyard/${run_id}` },
        ...{ ...pushed, pull_request: { number: 1, url } },
      })
      await sql`update runs set state = ${state}, metadata = ${JSON.stringify(metadata)}::jsonb
        where run_id = ${run_id}`.execute(db)
      return { run_id, url }
    }
    const asks = await add('BLOCKED', { message: 'Which?', waits_for: 'answer' })
    const fails = await add('FAILED', broken)
    const opened = await push('SUCCEEDED')
    await add('BLOCKED', { message: 'Stopped.', waits_for: 'message' })
    await add('FAILED', broken, new Date(Date.now() - 8 * 86_400_000))
    await add('FAILED', { message: 'Exit 1.' })
    await add('SUCCEEDED')
    await push('INPROGRESS')
    await push('SUCCEEDED', 'runyard/another')
    const find = async (query: ListRunsQuery) =>
      (await listRuns(db, { metadata, ...query }, actorOf(viewer))).runs.map((run) => run.run_id).sort()
    assert.deepEqual(await find({ needs_attention: true }), [asks, fails, opened.run_id].sort())
    assert.equal((await find({ needs_attention: false })).length, 9)
    await recordPullStatus(db, opened.url, 'merged', { principal_id: viewer })
    assert.deepEqual(await find({ needs_attention: true }), [asks, fails].sort())
  })

  test('any of several sources, one automation, and no factory', async () => {
    const add = (source: RunSourceType, automation_id: string) =>
      addRun(db, viewer, { source, metadata: { set: 'sources', automation_id } })
    const [api, cli] = [await add('API', 'a'), await add('CLI', 'b')]
    await add('SLACK', 'c')
    const find = async (query: ListRunsQuery) =>
      (await listRuns(db, { metadata: { set: 'sources' }, ...query }, actorOf(viewer))).runs
        .map((run) => run.run_id)
        .sort()
    assert.deepEqual(await find({ source: ['API', 'CLI', 'TEAMS'] }), [api, cli].sort())
    assert.deepEqual(await find({ automation_id: 'b' }), [cli])
    for (const none of [{ factory_uid: ['f'] }, { factory_only: true }])
      assert.deepEqual(await find(none), [])
    assert.equal((await find({ factory_only: false })).length, 3)
  })

  test('of a long prompt the first 2,048 characters are listed, and it says so', async () => {
    const add = (prompt: string, base_prompt: string) =>
      addRun(db, viewer, { prompt, config: { base_prompt, name: 'n' }, metadata: { set: 'long' } })
    const fits = await add('🦊'.repeat(2048), 'é'.repeat(2048))
    const cut = await add('🦊'.repeat(2049), 'é'.repeat(2049))
    const { runs } = await listRuns(db, { metadata: { set: 'long' } }, actorOf(viewer))
    const shown = new Map(
      runs.map(({ run_id, prompt, prompt_truncated, config, base_prompt_truncated }) => [
        run_id,
        [prompt, prompt_truncated, config, base_prompt_truncated],
      ]),
    )
    const config = { base_prompt: 'é'.repeat(2048), name: 'n' }
    assert.deepEqual(shown.get(fits), ['🦊'.repeat(2048), false, config, false])
    assert.deepEqual(shown.get(cut), ['🦊'.repeat(2048), true, config, true])
    const whole = await findRun(db, cut, actorOf(viewer))
    assert.deepEqual([whole?.prompt.length, whole?.config.base_prompt?.length], [2 * 2049, 2049])
  })

  test('a page ends with its bytes, and the next one goes on, in every order', async () => {
    const args = [randomBytes(512 * 1024).toString('hex')]
    const config = { mcp_servers: { large: { command: 'serve', args } } }
    const metadata = { set: 'large' }
    const added: string[] = []
    for (let i = 0; i < 7; i += 1) added.push(await addRun(db, viewer, { config, metadata }))
    for (const sort_by of SORT_KEYS) {
      const pages: string[][] = []
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const query = { metadata, sort_by, limit: 500, ...(cursor ? { cursor } : {}) }
        const { runs, next_cursor } = await listRuns(db, query, actorOf(viewer))
        pages.push(runs.map((run) => run.run_id))
        cursor = next_cursor
      }
      // The fourth begins within 4 MiB and ends beyond.
      assert.deepEqual(
        pages.map((page) => page.length),
        [4, 3],
      )
      assert.deepEqual(pages.flat().sort(), added.toSorted())
    }
  })

  test('a run is found by the beginning or the end of its id without reading the others, however many there are', async () => {
    const like = await addRun(db, viewer)
    // One a minute, as ids of the seventh version tell the time.
    for (let first = 1; first < 5_000; first += 500)
      await sql`
      insert into runs select made.* from runs r, (
        select at, (substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-7' || substr(x, 1, 3) || '-8' || substr(x, 4, 3) || '-'
          || substr(x, 7, 12))::uuid as id
        from generate_series(${first}::int, ${first + 499}::int) n, md5(n::text) x, to_timestamp(1700000000 + n * 60) at,
          lpad(to_hex(1700000000000 + n::bigint * 60000), 12, '0') h) m,
        jsonb_populate_record(null::runs, to_jsonb(r) || jsonb_build_object('run_id', m.id, 'conversation_id', m.id,
          'root_run_id', m.id, 'created_at', m.at, 'updated_at', m.at)) made
      where r.run_id = ${like}::uuid`.execute(db)
    await sql`analyze runs`.execute(db)
    const [run_id = ''] = (
      await sql<{ run_id: string }>`select run_id from runs order by run_id offset 2500 limit 1`.execute(db)
    ).rows.map((row) => row.run_id)
    for (const length of [8, 13, 36])
      for (const sort_by of SORT_KEYS) {
        const query = { run_id_prefix: run_id.slice(0, length), sort_by, environment_id: undefined }
        const { rows } = await sql<{ 'QUERY PLAN': string }>`
          explain ${selectPage(query, actorOf(viewer))}`.execute(db)
        const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
        // A scan in the order of the list reads all that come before it.
        assert.match(plan, /Scan (using|on) runs_pkey/, `${length} characters by ${sort_by}:\n${plan}`)
        assert.doesNotMatch(plan, /Seq Scan on runs/)
        const { runs } = await listRuns(db, query, actorOf(viewer))
        assert(runs.some((run) => run.run_id === run_id))
      }
    const { rows } = await sql<{ 'QUERY PLAN': string }>`
      explain ${selectPage({ needs_attention: true, sort_by: 'created_at', limit: 50, environment_id: undefined }, actorOf(viewer))}`.execute(
      db,
    )
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    assert.doesNotMatch(plan, /Seq Scan on runs|runs_created/, `what needs attention:\n${plan}`)
    for (const length of [6, 8, 20])
      for (const sort_by of SORT_KEYS) {
        const query = { run_id_suffix: run_id.slice(-length), sort_by, environment_id: undefined }
        const { rows } = await sql<{ 'QUERY PLAN': string }>`
          explain ${selectPage(query, actorOf(viewer))}`.execute(db)
        const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
        assert.match(plan, /Scan (using|on) runs_id_ending/, `${length} characters by ${sort_by}:\n${plan}`)
        const { runs } = await listRuns(db, query, actorOf(viewer))
        assert(runs.some((run) => run.run_id === run_id))
      }
  })
})
