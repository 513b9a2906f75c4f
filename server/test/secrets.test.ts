/** Secrets: who sees and changes them, what they may be, and that no value ever comes out again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GitAccess, ListSecretsResponse, Secret } from '../src/contract/secret.ts'
import { onFace } from './support/face.ts'

const CANARY = 'canary-7Hq2vXw9'
const GIT: GitAccess = { host: 'git.example' }

interface Problem {
  error_code: string
  detail: string
  retryable: boolean
}

onFace('secrets', (service) => {
  type Person = 'admin' | 'other' | 'viewer'
  const put = (name: string, body: object, query = '', who: Person = 'admin') =>
    service()[who].json<Secret>('PUT', `/agent/secrets/${name}${query}`, body)
  const get = (name: string, query = '', who: Person = 'admin') =>
    service()[who].json<Secret>('GET', `/agent/secrets/${name}${query}`)
  const namesOf = async (query = '', who: Person = 'admin') =>
    (await service()[who].json<ListSecretsResponse>('GET', `/agent/secrets${query}`)).secrets.map(
      ({ name, scope }) => `${name} ${scope.type}`,
    )
  const refusal = async (method: string, path: string, body?: unknown, who: Person = 'admin') => {
    const answer = await service()[who].call(method, `/agent/secrets/${path}`, body)
    const text = await answer.text()
    assert(!text.includes(CANARY), text)
    assert(!answer.ok, text)
    return { status: answer.status, ...(JSON.parse(text) as Problem) }
  }

  test('one is created, read, replaced and deleted, and its value never comes back', async () => {
    const made = await put('LIFE', { value: CANARY, description: 'A life.' })
    assert.deepEqual(
      [made.name, made.version, made.scope, made.description],
      ['LIFE', 1, { type: 'Team' }, 'A life.'],
    )
    assert.equal(made.created_at, made.last_updated.slice(0, made.created_at.length))
    assert.deepEqual(await get('LIFE'), made)
    const replaced = await put('LIFE', { value: `${CANARY}!` }, '', 'other')
    assert.deepEqual([replaced.version, replaced.description], [2, undefined])
    assert.equal(replaced.creator.uid, made.creator.uid)
    assert(replaced.last_updated > made.last_updated)
    const deleted = await service().other.json<Secret>('DELETE', '/agent/secrets/LIFE')
    assert.deepEqual(deleted, replaced)
    assert.equal((await refusal('GET', 'LIFE')).status, 404)
    assert.equal((await refusal('DELETE', 'LIFE')).status, 404)
    assert(!(await namesOf()).includes('LIFE Team'))
    // Whatever was prepared with a version is told from what comes later.
    const again = await put('LIFE', { value: CANARY }, '', 'other')
    assert.equal(again.version, 3)
    assert.notEqual(again.creator.uid, made.creator.uid)
    assert(again.created_at > made.created_at)
    const everything = JSON.stringify([made, replaced, deleted, again, await namesOf()])
    assert(!everything.includes(CANARY), everything)
  })

  test('a personal one is its owner’s alone, beside one of the team', async () => {
    await put('BOTH', { value: CANARY }, '?scope=User')
    await put('BOTH', { value: `${CANARY}-team` })
    await put('BOTH', { value: `${CANARY}-other` }, '?scope=User', 'other')
    await put('MINE', { value: CANARY }, '?scope=User')
    const mine = await get('MINE', '?scope=User')
    assert.deepEqual(mine.scope, { type: 'User', uid: mine.creator.uid })
    for (const who of ['other', 'viewer'] as const)
      assert.equal((await refusal('GET', 'MINE?scope=User', undefined, who)).status, 404)
    assert.equal((await refusal('DELETE', 'MINE?scope=User', undefined, 'other')).status, 404)
    assert.equal((await refusal('GET', 'MINE')).status, 404)
    assert.notEqual((await get('BOTH', '?scope=User', 'other')).creator.uid, mine.creator.uid)
    const both = (names: string[]) => names.filter((name) => /^(BOTH|MINE)/.test(name))
    assert.deepEqual(both(await namesOf()), ['BOTH Team', 'BOTH User', 'MINE User'])
    assert.deepEqual(both(await namesOf('?scope=User')), ['BOTH User', 'MINE User'])
    assert.deepEqual(both(await namesOf('?scope=Team')), ['BOTH Team'])
    assert.deepEqual(both(await namesOf('', 'other')), ['BOTH Team', 'BOTH User'])
    assert.deepEqual(both(await namesOf('', 'viewer')), ['BOTH Team'])
    await service().admin.json('DELETE', '/agent/secrets/BOTH')
    assert.equal((await get('BOTH', '?scope=User')).version, 1)
  })

  test('an environment names at most 1 MiB of them, when it is created and when it is changed', async () => {
    const names = Array.from({ length: 17 }, (_, at) => `LONG_${at}`)
    for (const name of names) await put(name, { value: name.padEnd(65_536, '"') })
    const made = await service().admin.json<{ uid: string }>('POST', '/agent/environments', {
      name: 'long-secrets',
      secrets: names.slice(1),
    })
    const bodies = [
      ['POST', '/agent/environments', { name: 'longer-secrets', secrets: names }],
      ['PUT', `/agent/environments/${made.uid}`, { name: 'long-secrets', secrets: names }],
    ] as const
    for (const [method, path, body] of bodies) {
      const answer = await service().admin.call(method, path, body)
      assert.equal(answer.status, 400)
      assert.match(await answer.text(), /secrets: .*1114112 bytes together.*1 MiB/)
    }
  })

  test('a viewer writes none, and nobody does without a key', async () => {
    await put('SEEN', { value: CANARY })
    assert.equal((await get('SEEN', '', 'viewer')).version, 1)
    for (const path of ['SEEN', 'SEEN?scope=User', 'NEW']) {
      assert.equal((await refusal('PUT', path, { value: CANARY }, 'viewer')).status, 403)
      assert.equal((await refusal('DELETE', path, undefined, 'viewer')).status, 403)
    }
    assert.equal((await get('SEEN')).version, 1)
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const answer = await service().fetch(`${service().base_url}/agent/secrets/SEEN`, { method })
      assert.equal(answer.status, 401)
      await answer.body?.cancel()
    }
  })

  test('one keeps its kind until it is deleted', async () => {
    const git = { ...GIT, repositories: ['acme/app'], read_only: true }
    await put('KIND_GIT', { value: CANARY, git })
    await put('KIND_VARIABLE', { value: CANARY })
    for (const [name, body] of [
      ['KIND_GIT', { value: CANARY }],
      ['KIND_GIT', { value: CANARY, git: { host: 'other.example' } }],
      ['KIND_GIT', { value: CANARY, git: { host: 'git.example:8443' } }],
      ['KIND_VARIABLE', { value: CANARY, git: GIT }],
    ] as const) {
      const { status, error_code, retryable, detail } = await refusal('PUT', name, body)
      assert.deepEqual([status, error_code, retryable], [409, 'conflict', false])
      assert.match(detail, /Delete it first\.$/)
    }
    assert.deepEqual((await get('KIND_GIT')).git, git)
    // What else is said of it may change, and the host may be written in other ways.
    const wider = await put('KIND_GIT', { value: CANARY, git: { host: 'GIT.example:443' } })
    assert.deepEqual([wider.version, wider.git], [2, GIT])
    await service().admin.json('DELETE', '/agent/secrets/KIND_GIT')
    assert.equal((await put('KIND_GIT', { value: CANARY })).version, 3)
  })

  test('what is not as it must be is refused, without its value', async () => {
    const long = CANARY.repeat(5_000)
    const bad: Array<[string, unknown, RegExp]> = [
      ['BAD', {}, /^value: /],
      ['BAD', { value: 'canary-' }, /at least 8 characters: shorter ones cannot be masked/],
      ['BAD', { value: long }, /over 64 KiB/],
      ['BAD', { value: 'é'.repeat(32_769) }, /over 64 KiB/],
      ['BAD', { value: [CANARY] }, /^value: /],
      ['BAD', { value: `${CANARY}\u0000` }, /NUL/],
      ['BAD', CANARY, /./],
      ['1BAD', { value: CANARY }, /^name: must be a variable name/],
      ['BAD-NAME', { value: CANARY }, /^name: /],
      ['B'.repeat(129), { value: CANARY }, /^name: /],
      ['BAD?scope=Nobody', { value: CANARY }, /^scope: /],
      ['BAD', { value: CANARY, description: 'x'.repeat(4097) }, /^description: /],
      // A misspelt restriction would be none, and a misspelt `git` would make a variable of a token.
      ['BAD', { value: CANARY, gti: GIT }, /gti/],
      ['BAD', { value: CANARY, git: { ...GIT, repository: ['a/b'] } }, /^git: .*repository/],
      ['BAD', { value: CANARY, git: {} }, /^git\.host: /],
      ['BAD', { value: CANARY, git: { host: 'https://git.example' } }, /^git\.host: /],
      ['BAD', { value: CANARY, git: { host: '*.example' } }, /^git\.host: /],
      ['BAD', { value: CANARY, git: { host: 'git.example:65536' } }, /^git\.host: .*port/],
      ['BAD', { value: CANARY, git: { host: `${'a.'.repeat(127)}b:8443` } }, /^git\.host: /],
      ['BAD', { value: CANARY, git: { ...GIT, repositories: [] } }, /^git\.repositories: /],
      ['BAD', { value: CANARY, git: { ...GIT, username: 'a:b' } }, /^git\.username: /],
      ['BAD', { value: CANARY, git: { ...GIT, username: 'a\nb' } }, /^git\.username: /],
      [
        'BAD',
        { value: CANARY, git: { ...GIT, app: { app_id: 'x', installation_id: '1' } } },
        /^git\.app\.app_id: /,
      ],
      [
        'BAD',
        { value: CANARY, git: { ...GIT, app: { app_id: '1', installation_id: '1' } } },
        /^value: .*PEM/,
      ],
      ['BAD', { value: `${CANARY}\n`, git: GIT }, /^value: must be a token/],
      ['BAD', { value: `${CANARY} ${CANARY}`, git: GIT }, /^value: must be a token/],
    ]
    for (const pattern of [
      'app',
      '*',
      '/app',
      'acme/',
      'acme/../app',
      'acme/.',
      'acme/app.git',
      'acme/a*',
      'a b/c',
      '*/app',
    ])
      bad.push([
        'BAD',
        { value: CANARY, git: { ...GIT, repositories: [pattern] } },
        /^git\.repositories\.0: /,
      ])
    for (const [name, body, why] of bad) {
      const { status, detail } = await refusal('PUT', name, body)
      assert.equal(status, 400, JSON.stringify(body).slice(0, 200))
      assert.match(detail, why)
    }
    for (const path of ['BAD', 'BAD-NAME', '%00', '..%2F..'])
      assert.equal((await refusal('GET', path)).status, 404, path)
    const broken = await service().fetch(`${service().base_url}/agent/secrets/BAD`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${service().keys.admin}`, 'content-type': 'application/json' },
      body: `{"value": ${CANARY}}`,
    })
    assert.equal(broken.status, 400)
    assert(!(await broken.text()).includes(CANARY))
  })

  test('what is as it must be is taken', async () => {
    const pem = `-----BEGIN RSA PRIVATE KEY-----\n${CANARY}\n-----END RSA PRIVATE KEY-----\n`
    const git: GitAccess = {
      host: 'git.internal:8443',
      repositories: ['acme/app', 'acme/*', 'group/sub/project', 'group/sub/*', 'a/.github'],
      username: 'deploy token',
      read_only: false,
      app: { app_id: '12345', installation_id: '678' },
    }
    assert.deepEqual((await put('GOOD_APP', { value: pem, git })).git, git)
    const value = `${'é'.repeat(4)}\n${'x'.repeat(65_527)}`
    assert.equal((await put('_good1', { value, description: null })).description, undefined)
    assert.equal((await put('B'.repeat(128), { value: '12345678' })).version, 1)
  })

  test('a list goes on by its cursor, in one order, and takes no strange cursor', async () => {
    const names = Array.from({ length: 7 }, (_, index) => `PAGED_${index}`)
    await Promise.all(names.map((name) => put(name, { value: CANARY })))
    await put('PAGED_3', { value: CANARY }, '?scope=User')
    const found: string[] = []
    for (let cursor: string | undefined; ; ) {
      const page = await service().admin.json<ListSecretsResponse>(
        'GET',
        `/agent/secrets?limit=2${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`,
      )
      assert(page.secrets.length <= 2)
      found.push(...page.secrets.map(({ name, scope }) => `${name} ${scope.type}`))
      cursor = page.page_info.next_cursor
      if (!cursor) break
    }
    assert.deepEqual(found, await namesOf())
    assert.deepEqual(found, [...found].sort())
    assert.equal(found.filter((name) => name.startsWith('PAGED_')).length, 8)
    const strange = (parts: unknown) => Buffer.from(JSON.stringify(parts)).toString('base64url')
    for (const cursor of ['x', strange(['A']), strange(['A-', 'Team']), strange(['A', 'All'])]) {
      const answer = await service().admin.call('GET', `/agent/secrets?cursor=${cursor}`)
      assert.equal(answer.status, 400)
      assert.equal(((await answer.json()) as Problem).detail, 'cursor: is not one this service gave out.')
    }
  })

  test('of many at once each is a version of its own', async () => {
    const made = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        put('RACE', { value: `${CANARY}${index}` }, '', index % 2 ? 'other' : 'admin'),
      ),
    )
    assert.deepEqual(
      made.map(({ version }) => version).sort((a, b) => a - b),
      Array.from({ length: 10 }, (_, index) => index + 1),
    )
  })
})
