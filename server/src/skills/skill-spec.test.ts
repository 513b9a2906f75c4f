import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolveSpec } from './skill-spec.ts'

const at = (owner: string, repo: string, path: string, host: string | null = 'github.com') => ({
  ...{ owner, repo, path, host, id: `${owner}/${repo}:${path}` },
  name: path.split('/').at(-2) ?? '',
})
const SKILLS = [
  at('acme', 'site', '.agents/skills/deploy/SKILL.md'),
  at('acme', 'site', '.claude/skills/deploy/SKILL.md'),
  at('acme', 'site', '.claude/skills/test/SKILL.md'),
  at('other', 'Site', '.claude/skills/deploy/SKILL.md'),
  at('group/sub', 'tool', 'skills/build/SKILL.md'),
  at('acme.io/team', 'app', 'skills/ship/SKILL.md', 'git.example:8443'),
  at('machine', 'own', 'skills/mend/SKILL.md', null),
]
const idOf = (spec: string) => {
  const found = resolveSpec(spec, SKILLS)
  return 'skill' in found ? found.skill.id : found.refusal
}

test('a spec names a skill by repository and name or path', () => {
  const first = 'acme/site:.agents/skills/deploy/SKILL.md'
  const second = 'acme/site:.claude/skills/deploy/SKILL.md'
  assert.equal(idOf('acme/site:deploy'), first)
  assert.equal(idOf('ACME/Site:deploy'), first)
  assert.equal(idOf(second), second)
  assert.equal(idOf('acme/site:.claude/skills/deploy'), second)
  assert.equal(idOf('test'), 'acme/site:.claude/skills/test/SKILL.md')
  assert.equal(idOf('site:test'), 'acme/site:.claude/skills/test/SKILL.md')
  for (const address of [
    'https://github.com/acme/site',
    'https://github.com/acme/site.git/',
    'git@github.com:Acme/site.git',
    'ssh://git@github.com/acme/site',
    'ssh://git@ssh.github.com:443/acme/site',
    'github.com/acme/site',
    'www.github.com/acme/site.git',
    'https://GitHub.com:443/acme/site',
  ])
    assert.equal(idOf(`${address}:deploy`), first)
  assert.equal(idOf(`git@github.com:acme/site:${second.split(':')[1]}`), second)
  assert.equal(idOf('tool:build'), 'group/sub/tool:skills/build/SKILL.md')
  assert.equal(idOf('group/sub/tool:skills/build/SKILL.md'), 'group/sub/tool:skills/build/SKILL.md')
})

test('a host that is named is the one of the repository', () => {
  const ship = 'acme.io/team/app:skills/ship/SKILL.md'
  for (const address of [
    'https://git.example:8443/acme.io/team/app',
    'git.example:8443/acme.io/team/app',
    'acme.io/team/app',
    'app',
  ])
    assert.equal(idOf(`${address}:ship`), ship, address)
  assert.equal(idOf('machine/own:mend'), 'machine/own:skills/mend/SKILL.md')
  for (const spec of [
    'https://evil.example/acme/site:deploy',
    'git@evil.example:acme/site:deploy',
    'evil.example/acme/site:deploy',
    'github.com:8443/acme/site:deploy',
    'https://git.example/acme.io/team/app:ship',
    'https://github.com/site:test',
    'https://github.com/machine/own:mend',
  ])
    assert.match(idOf(spec), /^The environment has no skill/, spec)
})

test('what is ambiguous or not there is told with what there is', () => {
  for (const spec of ['deploy', 'site:deploy'])
    assert.match(
      idOf(spec),
      /more than one repository: acme\/site:\.agents\/skills\/deploy\/SKILL\.md, other\/Site:.*SKILL\.md\./,
    )
  assert.match(idOf('acme/site:gone'), /has no skill "acme\/site:gone"\. There are acme\/site:/)
  assert.match(idOf('nobody/site:deploy'), /has no skill/)
  for (const spec of ['', ':', 'a:', ':b', 'acme/site:../x/SKILL.md'])
    assert.match(idOf(spec), /names no skill/)
})
