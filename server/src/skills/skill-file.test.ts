import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fillArguments, parseSkill } from './skill-file.ts'

const skill = (front: string, text = 'Do it.') => `---\n${front}\n---\n${text}`
const GOOD = 'name: deploy\ndescription: Deploys.'
const errorOf = (content: string) => {
  const read = parseSkill(content, 'deploy')
  assert('error' in read, JSON.stringify(read))
  return read.error
}

describe('a SKILL.md', () => {
  test('has a name, a description and a text, and may have more', () => {
    const expected = { name: 'deploy', description: 'Deploys.', text: 'Do it.\n\n---\nmore' }
    const more = `${GOOD}\nlicense: MIT\nmetadata:\n  a: 1\nallowed-tools: [bash]`
    assert.deepEqual(parseSkill(skill(more, 'Do it.\n\n---\nmore\n'), 'deploy'), expected)
    assert.deepEqual(parseSkill(`\ufeff${skill(more, expected.text).replaceAll('\n', '\r\n')}`, 'deploy'), {
      ...expected,
      text: expected.text.replaceAll('\n', '\r\n'),
    })
  })

  test('that is malformed is told', () => {
    assert.match(errorOf('Do it.'), /front matter/)
    assert.match(errorOf(`---\n${GOOD}`), /front matter/)
    assert.match(errorOf(skill('name: deploy')), /^description: /)
    assert.match(errorOf(skill('name: Deploy!\ndescription: x')), /^name: must be/)
    assert.match(errorOf(skill('name: other\ndescription: x')), /its folder is "deploy"/)
    assert.match(errorOf(skill(`name: deploy\ndescription: ${'x'.repeat(1025)}`)), /1,024/)
    assert.match(errorOf(skill('a: [')), /no YAML/)
    assert.match(errorOf(skill('just text')), /^description: /)
    assert.match(errorOf(skill(GOOD, ' ')), /no text/)
    assert.match(errorOf(skill(`${GOOD}\nx: ${'y'.repeat(20_000)}`)), /too long/)
  })

  test('does nothing but be read', () => {
    assert.match(errorOf('---js\nprocess.exit(1)\n---\nx'), /front matter/)
    assert.match(errorOf(skill('name: !!js/function "function () {}"\ndescription: x')), /name|YAML/)
    const bomb = [
      'a: &a [x,x]',
      ...'bcdefghijklmnop'.split('').map((n, i) => `${n}: &${n} [${`*${'abcdefghijklmno'[i]},`.repeat(9)}]`),
    ]
    const expected = { name: 'deploy', description: 'Deploys.', text: 'Do it.' }
    assert.deepEqual(parseSkill(skill(`${GOOD}\n${bomb.join('\n')}`), 'deploy'), expected)
    assert.deepEqual(parseSkill(skill(`${GOOD}\nx: ${'['.repeat(8_000)}`), 'deploy'), expected)
    assert.match(errorOf(`---\n${'---\n '.repeat(100_000)}`), /front matter|YAML/)
    assert.deepEqual(parseSkill(skill(`__proto__: {description: no}\n${GOOD}`), 'deploy'), {
      ...{ name: 'deploy', description: 'Deploys.', text: 'Do it.' },
    })
  })
})

test('what people write for YAML is understood', () => {
  const descriptions: Array<[string, string]> = [
    ['description: Use when reviewing: x', 'Use when reviewing: x'],
    ['description: Use it: for a, b: and c', 'Use it: for a, b: and c'],
    ['description: @claude reviews', '@claude reviews'],
    ['description: *.ts files', '*.ts files'],
    ['description: %d of them', '%d of them'],
    ['description: `code` first', '`code` first'],
    ['description: [a] [b]', '[a] [b]'],
    ['description: {x} of y', '{x} of y'],
    ['description: "unclosed', 'unclosed'],
    ['description: "quoted" and more', '"quoted" and more'],
    ["description: 'it's ours'", "it's ours"],
    ['description: Deploys: it\n  over two lines: of text', 'Deploys: it over two lines: of text'],
    ['description: - a dash', '- a dash'],
    ['description: > of: x', '> of: x'],
    ['description: a # comment', 'a'],
    ['# first\ndescription: a', 'a'],
    ['description: >-\n  folded: here\n  and there', 'folded: here and there'],
    ['description:\n  - one\n  - two', 'one, two'],
    ['description: [one, two]', 'one, two'],
    ['description: 2026', '2026'],
    ['description: yes', 'yes'],
    ['description:\ta tab', 'a tab'],
    ['\tdescription: a tab before', 'a tab before'],
    ['Description: capital', 'capital'],
    ['description: first\ndescription: second', 'second'],
    ['description: a\nargument-hint: [a] [b]', 'a'],
    ['description: a\nallowed-tools: Bash(git:*), Read\nglobs: *.ts,*.js', 'a'],
    ['description: a\nmetadata:\n\tx: 1\n   y: 2\n z: [', 'a'],
    ['description: a\nno key here', 'a'],
    ['description:\u00a0wide blank', 'wide blank'],
  ]
  for (const [front, description] of descriptions)
    assert.deepEqual(
      parseSkill(skill(`name: deploy\n${front}`), 'deploy'),
      { name: 'deploy', description, text: 'Do it.' },
      front,
    )
  const names: Array<[string, string]> = [
    ['name: 2048', '2048'],
    ['name: 1e3', '1e3'],
    ['name: true', 'true'],
    ['name: 007', '007'],
    ['name: "deploy"', 'deploy'],
    ['name: Code Review', 'code-review'],
    ['name: code_review', 'code-review'],
    ['name: deploy # ours', 'deploy'],
    ['name: null', 'deploy'],
    ['name:', 'deploy'],
    ['title: x', 'deploy'],
  ]
  for (const [front, name] of names)
    assert.deepEqual(
      parseSkill(skill(`${front}\ndescription: a`), name),
      { name, description: 'a', text: 'Do it.' },
      front,
    )
  const files = [
    `\ufeff\n\n---  \n${GOOD}\n---  \nDo it.`,
    `---\n${GOOD}\n...\nDo it.`,
    `----\n${GOOD}\n  ---\nDo it.`,
    `---\r${GOOD.replaceAll('\n', '\r')}\r---\rDo it.`,
  ]
  for (const file of files)
    assert.deepEqual(
      parseSkill(file, 'deploy'),
      { name: 'deploy', description: 'Deploys.', text: 'Do it.' },
      JSON.stringify(file),
    )
})

test('arguments are filled in once, words by quotes', () => {
  assert.equal(
    fillArguments('$ARGUMENTS|$1|$2|$3|$10|$ARGUMENTSX', ' to "the east" $1 '),
    'to "the east" $1|to|the east|$1|$10|$ARGUMENTSX',
  )
  assert.equal(fillArguments('[$1][$ARGUMENTS]', ''), '[][]')
})
