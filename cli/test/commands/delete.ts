import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeleteRunsResponse, RunItem } from '@runyard/client'
import { home } from './service.ts'

const LIMIT = { timeout: 600_000 }

const queue = async (...more: string[]): Promise<string> => {
  const made = await home.run(['run', 'Wait.', '--host', 'nobody', '--detach', ...more, '-o', 'json'])
  return (JSON.parse(made.stdout) as { run_id: string }).run_id
}
const listed = async (...args: string[]): Promise<string[]> => {
  const { stdout } = await home.run(['list', '-o', 'json', ...args])
  return (JSON.parse(stdout) as { runs: RunItem[] }).runs.map(({ run_id }) => run_id)
}

test('runs are renamed, archived and deleted, which takes a yes', LIMIT, async () => {
  const run_id = await queue()
  const renamed = await home.run(['rename', run_id, 'Another title'])
  assert.equal(renamed.stdout, `Renamed ${run_id}: Another title\n`, renamed.stderr)
  const early = await home.run(['archive', run_id])
  assert.match(early.stderr, /The run has not ended: it is QUEUED/)
  await home.run(['cancel', run_id])
  assert.equal((await home.run(['archive', run_id])).stdout, `Archived ${run_id}\n`)
  assert.deepEqual(
    [(await listed()).includes(run_id), await listed('--archived'), (await listed('--archived', 'all'))[0]],
    [false, [run_id], run_id],
  )
  const again = await home.run(['unarchive', run_id.slice(0, -2)])
  assert.equal(again.stdout, `Unarchived ${run_id}\n`, 'A shortened id finds archived runs, too.')
  const unsure = await home.run(['delete', run_id])
  assert.equal(unsure.code, 2)
  assert.match(unsure.stderr, /no way back[\s\S]*--yes/)
  const other = await queue()
  const deleted = await home.run(['delete', run_id, other, '--cancel', '--yes'])
  assert.equal(deleted.stdout, `Deleted ${run_id}\nDeleted ${other}\n`, deleted.stderr)
  assert.equal((await home.run(['get', run_id])).code, 1)
})

test('runs are deleted by filter, after they are counted', LIMIT, async () => {
  const of = ['--metadata', 'lot=cli']
  const [first, second] = [await queue(...of), await queue(...of)]
  await home.run(['cancel', first])
  const dry = await home.run(['delete', ...of, '--dry-run'])
  assert.equal(dry.stdout, '1 run would be deleted. 1 that has not ended stays: --cancel.\n', dry.stderr)
  const counted = await home.run(['delete', ...of, '--dry-run', '-o', 'json'])
  const { count, open } = JSON.parse(counted.stdout) as DeleteRunsResponse
  assert.deepEqual([count, open], [1, 1])
  for (const [args, said] of [
    [['delete'], /Which runs\?/],
    [['delete', first, ...of], /ids of runs or filters/],
    [['delete', first, '--dry-run'], /--dry-run counts/],
    [['delete', ...of], /--yes/],
  ] as const) {
    const refused = await home.run([...args])
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, said)
  }
  const deleted = await home.run(['delete', ...of, '--cancel', '--yes'])
  assert.equal(deleted.stdout, 'Deleted 2 runs.\n', deleted.stderr)
  assert.equal((await home.run(['get', second])).code, 1)
  assert.match(
    (await home.run(['delete', ...of, '--yes'])).stderr,
    /^No run matches that can be deleted\.\n$/,
  )
})
