import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PermissionRule } from '../contract/permission.ts'
import { describeCall, judgeCall } from './permissions.ts'
import { matchesWildcard } from './wildcard.ts'

const rule = (text: string): PermissionRule => {
  const [, action, tool = '', pattern] = /^(\w+):([^:]+)(?::(.*))?$/.exec(text) ?? []
  return { action: action as PermissionRule['action'], tool, ...(pattern === undefined ? {} : { pattern }) }
}
const judge = (rules: string[], tool: string, input: object): string =>
  judgeCall([rules.map(rule)], describeCall([tool], input, '/workspace/site')).action
const bash = (rules: string[], command: string): string => judge(rules, 'bash', { command })

test('the first rule that fits decides, and without one a call is allowed', () => {
  const rules = ['allow:read', 'ask:*']
  assert.equal(judge(rules, 'read', { path: 'a' }), 'allow')
  assert.equal(judge(rules, 'write', { path: 'a' }), 'ask')
  assert.equal(judge([...rules].reverse(), 'read', { path: 'a' }), 'ask')
  assert.equal(judge(['deny:files_*'], 'files_write', {}), 'deny')
  assert.equal(judge(['deny:files_*'], 'FILES_WRITE', {}), 'deny')
  assert.equal(judge([], 'bash', { command: 'rm -rf /' }), 'allow')
})

test('of several sets the strictest decides; a rule that was granted asks no more', () => {
  const call = describeCall(['bash'], { command: 'git push' }, '/')
  const [allow, ask, deny] = ['allow:bash', 'ask:bash', 'deny:bash'].map((text) => [rule(text)])
  assert(allow && ask && deny)
  assert.equal(judgeCall([allow, ask], call).action, 'ask')
  assert.equal(judgeCall([deny, ask], call).action, 'deny')
  assert.equal(judgeCall([allow, ask], call, ask).action, 'allow')
  assert.equal(judgeCall([ask, deny], call, [...ask, ...deny]).action, 'deny')
  assert.equal(judgeCall([ask], call, [rule('ask:bash:git*')]).action, 'ask')
})

test('what joins commands neither hides one from a rule nor slips one past it', () => {
  for (const command of [
    'git push',
    '  git   push origin main',
    'ls; git push',
    'ls && git push',
    'ls\ngit push',
    'ls | git push',
    'echo $(git push)',
    'echo `git push`',
    '(git push)',
    '{ git push; }',
    'GIT_TERMINAL_PROMPT=0 git push',
    'if true; then sudo git push; fi',
  ])
    assert.equal(bash(['ask:bash:git push*'], command), 'ask', command)
  for (const command of [
    'ls; rm x',
    'ls && rm x',
    'ls\nrm x',
    'ls $(rm x)',
    'ls `rm x`',
    'ls > x',
    'ls & rm x',
  ])
    assert.equal(bash(['allow:bash:ls*', 'deny:bash'], command), 'deny', command)
  assert.equal(bash(['allow:bash:ls*', 'deny:bash'], 'ls -la'), 'allow')
  assert.equal(bash(['ask:bash:git push*'], 'git pull'), 'allow')
  assert.equal(judge(['ask:bash:git push*'], 'bash', { command: ['git', 'push'] }), 'ask')
})

test('a command that is handed to a shell is that command', () => {
  const rules = ['ask:bash:git push*', 'allow:bash:ls*', 'deny:bash']
  const through = (script: string) => judge(rules, 'bash', { command: ['/bin/bash', '-lc', script] })
  assert.deepEqual(['git push', 'ls', 'ls; rm x'].map(through), ['ask', 'allow', 'deny'])
})

test('what a tool does not read hides nothing of what it does', () => {
  const rules = [
    'deny:*:/workspace/site/.env*',
    'deny:fetch_url:https://evil.example/*',
    'ask:pay:*"to":"eve"*',
  ]
  assert.equal(judge(rules, 'read', { path: '.env', command: 'ls' }), 'deny')
  assert.equal(judge(rules, 'read', { path: 'a', file_path: '.env' }), 'deny')
  assert.equal(judge(rules, 'fetch_url', { url: 'https://evil.example/x', path: 'a' }), 'deny')
  assert.equal(judge(rules, 'pay', { to: 'eve', url: 'https://bank.example' }), 'ask')
  assert.equal(judge(['allow:*:ls*', 'deny:*'], 'read', { path: '.env', command: 'ls' }), 'deny')
  // What a file is going to hold is not what the call is about.
  assert.equal(judge(['deny:*:*secret*'], 'write', { path: 'a', content: 'a secret' }), 'allow')
  assert.equal(judge(['deny:*:src/*'], 'files__write', { path: 'a', text: 'x'.repeat(200_000) }), 'allow')
})

test('a command too long to look at is asked about, and never allowed by a pattern', () => {
  const long = `echo ${'x'.repeat(200_000)}`
  assert.equal(bash(['ask:bash:git push*'], long), 'ask')
  assert.equal(bash(['allow:bash:echo*', 'deny:bash'], long), 'deny')
})

test('paths are whole or below the working directory, however they are written', () => {
  const rules = ['deny:*:/workspace/site/.env*', 'ask:write:src/*']
  assert.equal(judge(rules, 'read', { path: '.env' }), 'deny')
  assert.equal(judge(rules, 'read', { path: 'src/../.env.local' }), 'deny')
  assert.equal(judge(rules, 'edit', { file_path: '/workspace/site/.env' }), 'deny')
  assert.equal(judge(rules, 'write', { path: './src//a.ts' }), 'ask')
  assert.equal(judge(rules, 'write', { path: 'test/a.ts' }), 'allow')
})

test('other tools go by their address or their input', () => {
  assert.equal(
    judge(['deny:fetch_url:https://evil.example/*'], 'fetch_url', { url: 'https://evil.example/x' }),
    'deny',
  )
  assert.equal(judge(['ask:pay:*"amount":1000*'], 'pay', { amount: 1000 }), 'ask')
  for (const input of [null, undefined, 'text', 7, [], { path: 3 }, { command: [1] }])
    assert.equal(judgeCall([[rule('ask:odd')]], describeCall(['odd'], input, '/')).action, 'ask')
})

test('a pattern is the whole text, and * any part of it', () => {
  for (const [pattern, text, fits] of [
    ['*', '', true],
    ['', '', true],
    ['a*b*c', 'a--b--c', true],
    ['a*b*c', 'a--c--b', false],
    ['a.c', 'abc', false],
    ['*a', 'aaab', false],
    ['**x**', 'wxyz', true],
    ['a', 'ab', false],
  ] as const)
    assert.equal(matchesWildcard(pattern, text), fits, `${pattern} ${text}`)
  // Its cost is the product of both lengths at worst, not a power of it.
  assert.equal(matchesWildcard(`${'*a'.repeat(100)}b`, 'a'.repeat(100_000)), false)
})

test('an address is compared as it is asked for, however it is written', () => {
  const rules = ['deny:fetch_url:https://evil.example/*']
  for (const url of [
    'HTTPS://EVIL.example/x',
    'https:evil.example/x',
    'https:\\\\evil.example/x',
    ' https://evil.example:443/x',
    'https://ev%69l.example/x',
  ])
    assert.equal(judge(rules, 'fetch_url', { url }), 'deny', url)
  assert.equal(judge(rules, 'fetch_url', { url: 'https://other.example/?https://evil.example/' }), 'allow')
  assert.equal(
    judge(['allow:fetch_url:https://good.example', 'deny:*'], 'fetch_url', { url: 'https://good.example' }),
    'allow',
  )
})
