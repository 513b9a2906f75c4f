import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GitAccess } from './secret.ts'

const read = (host: string, text: string): unknown => {
  const { data, error } = GitAccess.safeParse({ host, repositories: [text] })
  return data?.repositories?.[0] ?? error?.issues[0]?.message
}

test('a pattern without a scheme is a path, unless it begins with the host of the secret', () => {
  for (const [host, text, path] of [
    ['gitlab.com', 'acme.io/team/app', 'acme.io/team/app'],
    ['gitlab.com', 'acme.io/team/*', 'acme.io/team/*'],
    ['gitlab.com', 'acme.io/*', 'acme.io/*'],
    ['gitlab.com', 'gitlab.com/acme.io/app', 'acme.io/app'],
    ['github.com', 'GitHub.com/acme/*', 'acme/*'],
    ['github.com', 'www.github.com/acme/app.git', 'acme/app'],
    ['github.com', 'https://github.com/acme/app.git', 'acme/app'],
    ['github.com', 'git@github.com:acme/app.git', 'acme/app'],
    ['git.internal:8443', 'git.internal:8443/acme/app', 'acme/app'],
  ] as const)
    assert.equal(read(host, text), path, text)
})

test('a pattern that could never match is refused, with the reason', () => {
  assert.match(String(read('github.com', 'https://gitlab.com/acme/app')), /is at gitlab\.com, and the secret/)
  assert.match(String(read('github.com', 'git@gitlab.com:acme/app')), /is at gitlab\.com, and the secret/)
  for (const text of ['github.com/*', 'https://github.com/*'])
    assert.match(String(read('github.com', text)), /every repository of github\.com, .* left out/, text)
  for (const text of ['github.com/acme', 'acme.io/team/app.git', 'acme.io/../team/app', '*', 'acme/app.git'])
    assert.match(String(read('github.com', text)), /must be a repository without "\.git"/, text)
})
