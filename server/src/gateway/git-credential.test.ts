import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GitCredential } from './gateway.ts'
import { basicOf, findCredential } from './git-credential.ts'

const make = (name: string, host: string, repositories: string[] | null): GitCredential => ({
  ...{ name, host, repositories, username: null, secret: 's', read_only: false, app: null },
})

const CREDENTIALS = [
  make('everything', 'github.com', null),
  make('acme', 'github.com', ['acme/*']),
  make('site', 'GitHub.com:443', ['Acme/Site', 'acme/other']),
  make('site-too', 'github.com', ['acme/site']),
  make('deep', 'git.internal:8443', ['group/*']),
  make('deeper', 'git.internal:8443', ['group/sub/*']),
]

for (const [host, path, name] of [
  ['github.com', 'acme/site', 'site'],
  ['GITHUB.com:443', 'ACME/SITE', 'site'],
  ['github.com', 'acme/site2', 'acme'],
  ['github.com', 'acme2/site', 'everything'],
  ['github.com', 'acme', 'everything'],
  ['git.internal:8443', 'group/sub/deep/site', 'deeper'],
  ['git.internal:8443', 'group/subs/site', 'deep'],
  ['git.internal:8443', 'group', null],
  ['git.internal:8443', 'groups/site', null],
  ['git.internal', 'group/site', null],
  ['github.com', 'acme/My%20Site', 'acme'],
  ['github.com', 'acme/%E6%A9%9F', 'acme'],
  ['github.com', 'acme/%2Fother', null],
  ['github.com', 'acme/%5c..%5cother', null],
  ['github.com', 'acme/%', null],
  ['github.com.evil.example', 'acme/site', null],
  ['github.com', 'acme/../other/site', null],
  ['github.com', 'acme/%2e%2e/other/site', null],
  ['github.com', 'acme//site', null],
  ['github.com', '/acme/site', null],
  ['github.com', 'acme\\site', null],
  ['github.com', '', null],
] as const)
  test(`${host} ${path || 'nothing'} has the credential ${name ?? 'of nobody'}`, () => {
    assert.equal(findCredential(CREDENTIALS, host, path)?.name ?? null, name)
  })

test('git over https names a user', () => {
  const readBasic = (...args: Parameters<typeof basicOf>) =>
    Buffer.from(basicOf(...args).replace(/^Basic /, ''), 'base64').toString()
  const github = make('x', 'github.com', null)
  assert.equal(readBasic(github, 'token'), 'x-access-token:token')
  assert.equal(readBasic(make('x', 'gitlab.com', null), 'token'), 'oauth2:token')
  assert.equal(readBasic(make('x', 'git.internal', null), 'token', 'gitlab'), 'oauth2:token')
  assert.equal(readBasic({ ...github, username: 'deploy' }, 'tökén'), 'deploy:tökén')
})
