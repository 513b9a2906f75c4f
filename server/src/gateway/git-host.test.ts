import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiUrlOf, branchUrl, kindOf } from './git-host.ts'

test('a host has the kind that it is known for, or that was configured', () => {
  const configured = { 'git.acme.example': 'gitlab', 'ghe.acme.example:8443': 'github' } as const
  const kinds = [
    ...['github.com', 'GitHub.com:443', 'gitlab.com', 'git.acme.example', 'GHE.acme.example:8443'],
    ...['ghe.acme.example', 'github.com.evil.example', 'constructor', '__proto__'],
  ].map((host) => kindOf(host, configured))
  const known = ['github', 'github', 'gitlab', 'gitlab', 'github']
  assert.deepEqual(kinds, [...known, null, null, null, null])
})

test('APIs and pages are where the hosts have them', () => {
  assert.equal(apiUrlOf('github', 'github.com'), 'https://api.github.com')
  assert.equal(apiUrlOf('github', 'ghe.acme.example:8443'), 'https://ghe.acme.example:8443/api/v3')
  assert.equal(apiUrlOf('gitlab', 'gitlab.com'), 'https://gitlab.com/api/v4')
  assert.equal(
    branchUrl('github', 'github.com', 'acme/site', 'fix/50%#1'),
    'https://github.com/acme/site/tree/fix/50%25%231',
  )
  assert.equal(
    branchUrl('gitlab', 'git.acme.example', 'a/b/c', 'fix/?x'),
    'https://git.acme.example/a/b/c/-/tree/fix/%3Fx',
  )
})
