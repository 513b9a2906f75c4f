import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostOf, isRepositoryNamed, ownerOf } from './environment-repositories.ts'

test('a repository is named by its path and its address, and not by that of another host', () => {
  const site = { url: 'https://github.com/acme/site.git' }
  const own = { local_path: '/srv/acme/site' }
  const group = { url: 'https://gitlab.com/acme.io/team/app' }
  for (const [repository, text, is_named] of [
    [site, 'ACME/site', true],
    [site, 'github.com/acme/site', true],
    [site, 'git@github.com:acme/site.git', true],
    [site, 'https://other.example/acme/site', false],
    [own, 'acme/site', true],
    [own, 'https://github.com/acme/site', false],
    [group, 'acme.io/team/app', true],
    [group, 'gitlab.com/acme.io/team/app', true],
  ] as const)
    assert.equal(
      isRepositoryNamed(text, { ...ownerOf(repository), host: hostOf(repository) }),
      is_named,
      text,
    )
  assert(isRepositoryNamed('https://github.com/acme/site', { owner: 'acme', repo: 'site' }))
})
