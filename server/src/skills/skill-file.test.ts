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
    assert.match(errorOf(skill('just text')), /The front matter: /)
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
    assert.match(errorOf(skill(`${GOOD}\n${bomb.join('\n')}`)), /alias/i)
    assert.match(errorOf(skill(`${GOOD}\nx: ${'['.repeat(8_000)}`)), /no YAML/)
    assert.match(errorOf(`---\n${'---\n '.repeat(100_000)}`), /front matter|YAML/)
    assert.deepEqual(parseSkill(skill(`__proto__: {description: no}\n${GOOD}`), 'deploy'), {
      ...{ name: 'deploy', description: 'Deploys.', text: 'Do it.' },
    })
  })
})

test('arguments are filled in once, words by quotes', () => {
  assert.equal(
    fillArguments('$ARGUMENTS|$1|$2|$3|$10|$ARGUMENTSX', ' to "the east" $1 '),
    'to "the east" $1|to|the east|$1|$10|$ARGUMENTSX',
  )
  assert.equal(fillArguments('[$1][$ARGUMENTS]', ''), '[][]')
})
