import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolveSpec } from './skill-spec.ts'

const at = (owner: string, repo: string, path: string) => ({
  ...{ owner, repo, path, id: `${owner}/${repo}:${path}` },
  name: path.split('/').at(-2) ?? '',
})
const SKILLS = [
  at('acme', 'site', '.agents/skills/deploy/SKILL.md'),
  at('acme', 'site', '.claude/skills/deploy/SKILL.md'),
  at('acme', 'site', '.claude/skills/test/SKILL.md'),
  at('other', 'Site', '.claude/skills/deploy/SKILL.md'),
  at('group/sub', 'tool', 'skills/build/SKILL.md'),
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
  ])
    assert.equal(idOf(`${address}:deploy`), first)
  assert.equal(idOf(`git@github.com:acme/site:${second.split(':')[1]}`), second)
  assert.equal(idOf('tool:build'), 'group/sub/tool:skills/build/SKILL.md')
  assert.equal(idOf('group/sub/tool:skills/build/SKILL.md'), 'group/sub/tool:skills/build/SKILL.md')
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
