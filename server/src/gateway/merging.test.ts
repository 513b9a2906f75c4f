import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiAnswer } from './git-host-api.ts'
import { GitHostFailure } from './git-host-api.ts'
import { createGithubMerging } from './github-merging.ts'
import { createGitlabMerging } from './gitlab-merging.ts'

const COMMIT = 'a'.repeat(40)
const place = {
  ...{ fetch: async () => new Response(), host: 'git.example', path: 'acme/site', number: 1 },
  ...{ token: 'a-token', credential_name: 'TOKEN' },
}
/** One pull request at a host that answers this to everything. */
const open = {
  github: (data: object) => createGithubMerging({ ...place, kind: 'github' }, async () => answer(data)),
  gitlab: (data: object) => createGitlabMerging({ ...place, kind: 'gitlab' }, async () => answer(data)),
}
const answer = (data: object): ApiAnswer => ({ status: 200, data, said: '', headers: new Headers() })
const PULL = {
  github: {
    ...{
      state: 'open',
      title: 'It',
      head: { sha: COMMIT },
      base: { ref: 'main' },
      draft: false,
      merged: false,
    },
    ...{ mergeable: true, mergeable_state: 'clean', merged_at: null },
  },
  gitlab: {
    ...{ state: 'opened', title: 'It', sha: COMMIT, target_branch: 'main', draft: false, merged_at: null },
    detailed_merge_status: 'mergeable',
  },
}
const standing = async (kind: 'github' | 'gitlab', changed: object) => {
  const { state, mergeable, note } = await open[kind]({ ...PULL[kind], ...changed }).read()
  return [state, mergeable, note]
}
const fails = (work: Promise<unknown>, message: RegExp) =>
  assert.rejects(work, (error) => error instanceof GitHostFailure && message.test(error.message))

test('what GitHub does not say to be clean is not merged, whatever its boolean says', async () => {
  const of = (mergeable_state: string | undefined, more: object = {}) =>
    standing('github', { mergeable_state, ...more })
  assert.deepEqual(await of('clean'), ['open', true, null])
  assert.deepEqual(await of('has_hooks'), ['open', true, null])
  assert.deepEqual(await of('unstable'), ['open', true, 'Checks that are not required have not passed.'])
  assert.deepEqual(await of('unknown'), ['open', null, null])
  assert.deepEqual(await of(undefined), ['open', null, null])
  assert.deepEqual(await of('unknown', { mergeable: false }), ['open', false, null])
  assert.deepEqual(await of('in_queue'), ['open', false, 'GitHub says: in queue.'])
  assert.deepEqual(await of('clean', { draft: true }), ['open', false, 'It is a draft.'])
})

test('GitLab may be merging, and its older versions call a draft one that can be merged', async () => {
  const merging = { state: 'locked', detailed_merge_status: 'not_open' }
  assert.deepEqual(await standing('gitlab', merging), ['open', null, 'GitLab is merging it.'])
  const old = { detailed_merge_status: undefined, merge_status: 'can_be_merged' }
  assert.deepEqual(await standing('gitlab', old), ['open', true, null])
  assert.deepEqual(await standing('gitlab', { ...old, draft: true }), ['open', false, 'It is a draft.'])
})

test('a success that does not say that it is merged is none', async () => {
  await open.github({ merged: true }).merge('squash', COMMIT)
  await open.gitlab({ state: 'merged' }).merge('squash', COMMIT)
  for (const data of [{}, { merged: false }, { merged: 'true' }])
    await fails(open.github(data).merge('squash', COMMIT), /something that its API does not say/)
  await fails(open.gitlab({}).merge('squash', COMMIT), /something that its API does not say/)
  const failed = { ...PULL.gitlab, merge_error: 'A hook\nrejected it' }
  await fails(open.gitlab(failed).merge('merge', COMMIT), /does not merge it: “A hook rejected it”\.$/)
})

for (const kind of ['github', 'gitlab'] as const)
  test(`what is of no use is not passed on, ${kind}`, async () => {
    const sha = (text: unknown) => (kind === 'github' ? { head: { sha: text } } : { sha: text })
    for (const changed of [sha('\u001b[2J'), sha('main'), sha(null), { state: 'new' }, { state: undefined }])
      await fails(open[kind]({ ...PULL[kind], ...changed }).read(), /something that its API does not say/)
    const at = async (merged_at: unknown) => (await open[kind]({ ...PULL[kind], merged_at }).read()).merged_at
    assert.equal(await at('2026-01-31T13:00:00+01:00'), '2026-01-31T12:00:00.000Z')
    for (const wrong of ['+275760-09-13T00:00:00Z', '0000-01-01T00:00:00Z', 'soon', 7])
      assert.equal(await at(wrong), null)
  })

test('a title is the line that its author wrote, in whatever script', async () => {
  const titled = async (title: string) => (await open.github({ ...PULL.github, title }).read()).title
  for (const title of ['हिन्दी में', 'สวัสดี', 'cafe\u0301', '\u2764\ufe0f'])
    assert.equal(await titled(title), title)
  assert.equal(await titled('a\u202eb\u001b[2J\n\ud800c'), 'a b [2J c')
})
