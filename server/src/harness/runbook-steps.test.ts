import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRunbook as parse } from './runbook-steps.ts'

const parseRunbook = (message: string) => parse(message, (text) => text)

const fence = (info: string, body = 'true') => `\`\`\`${info}\n${body}\n\`\`\``
const stepsOf = (markdown: string) =>
  parseRunbook(markdown).parts.flatMap((part) => (part.type === 'step' ? [part.step] : []))

test('shell blocks are steps and what stands around them is text, in order', () => {
  const { parts, problem } = parseRunbook(
    `First this.\n\n${fence('sh', 'echo 1')}\nThen\n${fence('bash', 'echo 2')}\n\nBye.`,
  )
  assert.equal(problem, undefined)
  assert.deepEqual(
    parts.map((part) => (part.type === 'text' ? part.text : part.step.command)),
    ['First this.', 'echo 1', 'Then', 'echo 2', 'Bye.'],
  )
})

test('sh, shell and bash count in any case; other languages, plain fences and indented code stay text', () => {
  const markdown = [
    fence('sh'),
    fence('Shell'),
    fence('BASH'),
    fence('python'),
    fence(''),
    '\n    sh\n',
  ].join('\n\n')
  assert.deepEqual(
    stepsOf(markdown).map((step) => step.shell),
    ['sh', 'sh', 'bash'],
  )
})

test('blocks in lists and quotes lose their indentation, and CRLF becomes LF', () => {
  const [inList, inQuote] = stepsOf(
    '1. Do\r\n\r\n   ```sh\r\n   if true\r\n     then echo\r\n   fi\r\n   ```\n\n> ~~~sh\n> ls\n> ~~~',
  )
  assert.equal(inList?.command, 'if true\n  then echo\nfi')
  assert.equal(inQuote?.command, 'ls')
})

test('a fence inside a longer fence is text of that block', () => {
  assert.deepEqual(stepsOf('````md\n```sh\nrm -rf /\n```\n````'), [])
})

test('options are read from the info string', () => {
  const [step] = stepsOf(
    fence('sh title="Run the tests" timeout=90s continue-on-error on-lost=fail', 'npm test'),
  )
  assert.deepEqual(step, {
    number: 1,
    title: 'Run the tests',
    shell: 'sh',
    command: 'npm test',
    timeout: '90s',
    timeout_ms: 90_000,
    continue_on_error: true,
    on_lost: 'fail',
  })
})

test('without options a step is named by its first line and has ten minutes', () => {
  const [step] = stepsOf(fence('sh', `\n  echo ${'x'.repeat(100)}\nls`))
  assert.equal(step?.title, `echo ${'x'.repeat(74)}…`)
  assert.equal(step?.timeout_ms, 600_000)
})

for (const [option, why] of [
  ['timeout=soon', /Step 2 "ls".*"timeout=soon"/],
  ['timeout=0s', /"timeout=0s"/],
  ['timeout=25h', /24h/],
  ['timeout', /"timeout" must be/],
  ['on-lost=retry', /"on-lost=retry" is not an option/],
  ['continue-on-eror', /"continue-on-eror" is not an option; there are title=/],
  ['title=""', /"title=""" is not an option/],
] as const) {
  test(`the option ${option} is refused with the step's name`, () => {
    assert.match(parseRunbook(`${fence('sh')}\n${fence(`sh ${option}`, 'ls')}`).problem ?? '', why)
  })
}

test('a command too long for one argument is refused', () => {
  assert.match(
    parseRunbook(fence('sh', `: ${'x'.repeat(100_000)}`)).problem ?? '',
    /longer than 100000 bytes/,
  )
})

const WIDE = 200_000
for (const [name, hostile] of Object.entries({
  'lists in lists': `${'- '.repeat(WIDE)}a`,
  'numbered lists in lists': '1. '.repeat(WIDE),
  'quotes in quotes': '> '.repeat(WIDE),
  'quotes and lists': '> - '.repeat(WIDE),
  'a deep quote that goes on lazily': `${'>'.repeat(100)}a\n${'a\n'.repeat(19_000)}`,
  'a deep list with blank lines': `${'- '.repeat(2_000)}a\n${'\n'.repeat(19_000)}`,
})) {
  test(`${name} beyond all reason are refused at once, and nothing is run`, () => {
    const { parts, problem } = parseRunbook(`${fence('sh')}\n\n${hostile}\n\n${fence('sh')}`)
    assert.equal(parts.length, 0)
    assert.match(problem ?? '', /^The message has lists and quotes more than 16 deep;/)
  })
}

for (const [name, hostile] of Object.entries({
  emphasis: '*a_ '.repeat(WIDE),
  'open brackets': '['.repeat(WIDE),
  'links without an end': '[a]('.repeat(WIDE),
  images: '!['.repeat(WIDE),
  backticks: '`` ` '.repeat(WIDE),
  tags: '<a '.repeat(WIDE),
  'definitions of links': '[a]: b "c\n'.repeat(19_000),
  tables: `${'|a'.repeat(WIDE)}\n${'|-'.repeat(WIDE)}`,
  'an option without an end': `\`\`\`text ${'a="'.repeat(WIDE)}\n\`\`\``,
  lists: '- a\n'.repeat(19_000),
})) {
  test(`${name} cost no more than other text`, () => {
    const { parts, problem } = parseRunbook(`${fence('sh', 'one')}\n\n${hostile}\n\n${fence('sh', 'two')}`)
    assert.equal(problem, undefined)
    assert.deepEqual(
      parts.map((part) => (part.type === 'text' ? part.text.length : part.step.command)),
      ['one', hostile.trim().length, 'two'],
    )
  })
}

test('sixteen levels are read, lists and quotes alike', () => {
  const list = Array.from({ length: 15 }, (_, level) => `${'  '.repeat(level)}- level\n`).join('')
  assert.equal(stepsOf(`${list}${'  '.repeat(15)}\`\`\`sh\n${'  '.repeat(15)}ls\n`).length, 1)
  assert.equal(stepsOf(`${'> '.repeat(16)}\`\`\`sh\n${'> '.repeat(16)}ls\n`).length, 1)
})

test('a message of too many lines is refused only when it may hold a step', () => {
  const long = 'line\n'.repeat(20_001)
  assert.match(parseRunbook(`${fence('sh')}\n${long}`).problem ?? '', /more than 20,000 lines/)
  assert.equal(parseRunbook(long).problem, undefined)
})

test('markers of lists and quotes before a block belong to it, not to what is said', () => {
  const { parts } = parseRunbook(
    '1. Build:\n   ```sh\n   make\n   ```\n2. ```sh\n   make test\n   ```\n> ~~~sh\n> ls\n> ~~~',
  )
  assert.deepEqual(
    parts.map((part) => (part.type === 'text' ? part.text : part.step.command)),
    ['1. Build:', 'make', 'make test', 'ls'],
  )
})

test('a title of any length is cut', () => {
  assert.equal(stepsOf(fence(`sh title="${'x'.repeat(500_000)}"`))[0]?.title, `${'x'.repeat(79)}…`)
})
