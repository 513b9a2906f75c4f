import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { assertBrief } from '../../test/support/loop-guard.ts'
import { Mask } from './mask.ts'

const SECRET = 'hunter2&"pässword"/'
const mask = new Mask([SECRET, 'tok_123456', 'tok_123456789', 'short'])

test('a value is masked wherever it stands, and nothing else is', () => {
  assert.equal(mask.text(`a ${SECRET}, b ${SECRET}${SECRET}.`), 'a ***, b ******.')
  assert.equal(mask.text('tok_12345 tok_123456 tok_123456789 tok_1234567'), 'tok_12345 *** *** ***7')
  assert.equal(mask.text('short and harmless'), 'short and harmless')
  assert.equal(new Mask().text(SECRET), SECRET)
})

for (const [form, text] of Object.entries({
  'URL-encoded': encodeURIComponent(SECRET),
  'in a form': new URLSearchParams({ a: SECRET }).toString().slice(2),
  'in JSON': JSON.stringify({ a: SECRET }).slice(6, -2),
  'in hexadecimal': Buffer.from(SECRET).toString('hex'),
})) {
  test(`it is masked ${form}`, () => assert.equal(mask.text(`<${text}>`), '<***>'))
}

test('it is masked in base64, whatever stands before and behind it', () => {
  for (const before of ['', 'x', 'xy', 'user:']) {
    for (const encoding of ['base64', 'base64url'] as const) {
      const text = Buffer.from(`${before}${SECRET}!`).toString(encoding)
      const masked = mask.text(text)
      assert(masked.includes('***'), text)
      const shown = masked.split('***').map((part) => Buffer.from(part, encoding).toString())
      assert(!shown.join('').includes('unter2'), masked)
    }
  }
})

test('in pieces it is masked wherever it is cut, and nothing is lost or held back for long', () => {
  const text = `begin ${SECRET} tok_123456 tok_12 end`
  for (let first = 0; first <= text.length; first += 1) {
    for (let second = first; second <= text.length; second += 3) {
      const stream = mask.stream()
      const pieces = [text.slice(0, first), text.slice(first, second), text.slice(second)]
      const told = pieces.map((piece) => stream.push(piece)).join('') + stream.end()
      assert.equal(told, 'begin *** *** tok_12 end')
    }
  }
  const stream = mask.stream()
  assert.equal(stream.push('hello hunt'), 'hello ')
  assert.equal(stream.push('ing'), 'hunting')
  assert.equal(stream.push('hunt'), '')
  assert.equal(stream.end(), 'hunt')
})

test('all strings of a value are masked, its keys too unless they are to be kept', () => {
  const value = { [SECRET]: [SECRET, { deep: `x${SECRET}` }, 7, null], tok_123456: 1 }
  assert.deepEqual(mask.json(value), { '***': ['***', { deep: 'x***' }, 7, null], '****': 1 })
  assert.deepEqual(mask.json(value, 'kept'), { [SECRET]: ['***', { deep: 'x***' }, 7, null], tok_123456: 1 })
})

test('a long value is masked, whole or cut by lines', () => {
  const long = Array.from({ length: 40 }, (_, index) => `line ${index} of a key`).join('\n')
  const masked = new Mask([long]).text(`<${long}>`)
  assert.match(masked, /^<(\*\*\*)+>$/)
})

for (const [name, values, text] of [
  ['values that share a beginning', (index: number) => `${'a'.repeat(100)}${index}`, 'a'.repeat(500_000)],
  ['values inside each other', (index: number) => 'a'.repeat(8 + (index % 900)), 'a'.repeat(500_000)],
  ['long values', (index: number) => `${'a'.repeat(1_000)}${index}`, 'a'.repeat(500_000)],
] as const) {
  test(`${name} cost no more than others`, () => {
    const mask = new Mask(Array.from({ length: 1_000 }, (_, index) => values(index)))
    const stream = mask.stream()
    let told = 0
    for (let at = 0; at < text.length; at += 1_000) told += stream.push(text.slice(at, at + 1_000)).length
    assert(told + stream.end().length > 0)
  })
}

const TOKEN = `github_pat_11ABCDEFG0${'0123456789abcdef'.repeat(5)}`

/** What a text shows of a value in an encoding, once its line ends are taken out. */
const decoded = (masked: string, encoding: BufferEncoding) =>
  masked
    .replace(/[\r\n]/g, '')
    .split('***')
    .map((part) => Buffer.from(part, encoding).toString('latin1'))
    .join(' ')

for (const columns of [76, 64, 60, 20]) {
  test(`it is masked in base64 and hexadecimal that is broken at ${columns} columns, in pieces too`, () => {
    for (const ending of ['\n', '\r\n']) {
      for (const before of ['', 'x', 'user:', 'x'.repeat(50)]) {
        for (const encoding of ['base64', 'hex'] as const) {
          const whole = Buffer.from(`${before}${TOKEN}!`).toString(encoding)
          const text = `${whole.replace(new RegExp(`.{${columns}}`, 'g'), `$&${ending}`)}${ending}`
          const upper = encoding === 'hex' ? text.toUpperCase() : text
          for (const wrapped of [text, upper]) {
            const masked = new Mask([TOKEN]).text(wrapped)
            assert(masked.includes('***') && !decoded(masked, encoding).includes('hub_'), masked)
            const stream = new Mask([TOKEN]).stream()
            const pieces = wrapped.match(/.{1,7}/gs) ?? []
            assert.equal(pieces.map((piece) => stream.push(piece)).join('') + stream.end(), masked)
          }
        }
      }
    }
  })
}

test('of a value of several lines each line is masked, short ones only with the others', () => {
  const key = '-----BEGIN KEY-----\nMIIEvgIBADANBgkq\r\nhkiG9w0BAQEFAASC\nabc=\n-----END KEY-----\n'
  const keys = new Mask([key])
  assert.match(keys.text(key), /^(\*\*\*)+$/)
  assert.equal(keys.text(' 2\thkiG9w0BAQEFAASC\n 3\tabc=\n'), ' 2\t***\n 3\tabc=\n')
  assert.doesNotMatch(keys.text(key.replaceAll(/\r?\n/g, ' ')), /MIIE|hkiG|KEY/)
})

const PASSWORD = `pa ss"w'rd$&<x>é/1\\#`
for (const [form, text] of Object.entries({
  'by quote of Python': 'pa%20ss%22w%27rd%24%26%3Cx%3E%C3%A9/1%5C%23',
  'by quote_plus of Python': 'pa+ss%22w%27rd%24%26%3Cx%3E%C3%A9%2F1%5C%23',
  'URL-encoded in lower case': 'pa%20ss%22w%27rd%24%26%3cx%3e%c3%a9%2f1%5c%23',
  'by json.dumps': 'pa ss\\"w\'rd$&<x>\\u00e9/1\\\\#',
  'in JSON of Go': 'pa ss\\"w\'rd$\\u0026\\u003cx\\u003eé/1\\\\#',
  'in JSON of PHP': 'pa ss\\"w\'rd$&<x>\\u00e9\\/1\\\\#',
  'by repr of Python': `pa ss"w\\'rd$&<x>é/1\\\\#`,
  'in HTML by Python': 'pa ss&quot;w&#x27;rd$&amp;&lt;x&gt;é/1\\#',
  'in HTML by others': 'pa ss&quot;w&#39;rd$&amp;&lt;x&gt;é/1\\#',
  'in the text of HTML': `pa ss"w'rd$&amp;&lt;x&gt;é/1\\#`,
})) {
  test(`it is masked ${form}`, () => assert.equal(new Mask([PASSWORD]).text(`<${text}>`), '<***>'))
}

for (const command of [
  'set -x; : "$VALUE"',
  'export -p',
  'declare -p VALUE',
  'printf %q "$VALUE"',
  'printf %q "$LINES_"',
]) {
  for (const shell of ['bash', 'sh']) {
    for (const LC_ALL of ['C', 'C.UTF-8']) {
      if (shell === 'sh' && /declare|%q/.test(command)) continue
      test(`it is masked in what \`${command}\` prints in ${shell}, ${LC_ALL}`, () => {
        const env = { PATH: process.env.PATH, LC_ALL, VALUE: PASSWORD, LINES_: `${PASSWORD}\nand 'more'` }
        const told = execFileSync(shell, ['-c', `exec 2>&1; ${command}`], { env, encoding: 'utf8' })
        const masked = new Mask([PASSWORD, env.LINES_]).text(told)
        assert.match(masked, /\*\*\*/)
        assert.doesNotMatch(masked, /w\\?'.*rd|more/)
      })
    }
  }
}

test('ordinary words and lines are not masked', () => {
  const text = 'eight by eight\nprod\nuction 1234\n5678\nBEGIN\n'
  assert.equal(new Mask(['production', '12345678', 'a\nb\neight']).text(text), text)
})

test('at a gap no piece of a value stays, wherever it is cut', () => {
  for (const [name, value] of [
    ['as it is', TOKEN],
    ['in base64', Buffer.from(TOKEN).toString('base64')],
    ['in lines', Buffer.from(TOKEN).toString('base64').replace(/.{60}/g, '$&\n')],
  ] as const) {
    for (let cut = 1; cut < value.length; cut += 1) {
      const stream = new Mask([TOKEN]).stream()
      const before = stream.push(`begin ${value.slice(0, cut)}`) + stream.gap()
      const after = [...`${value.slice(cut)} end`].map((piece) => stream.push(piece)).join('') + stream.end()
      assert.match(before, /^begin (\*\*\*)*.{0,3}$/, `${name} ${cut}: ${before}`)
      assert.match(after, /^\n?.{0,3}(\*\*\*)*\n?.{0,4} end$/, `${name} ${cut}: ${after}`)
    }
  }
  const stream = mask.stream()
  assert.equal(
    stream.push('a word') + stream.gap() + stream.push('and more') + stream.end(),
    'a wordand more',
  )
})

test('thousands of fields that look the same when masked stay apart, and cost little', () => {
  const secrets = Array.from({ length: 80 }, (_, at) => `secret-number-${at}-`)
  const names = secrets.flatMap((one) => secrets.map((other) => one + other))
  const mask = new Mask(secrets)
  const masked = assertBrief(() => mask.json(Object.fromEntries(names.map((name, at) => [name, at]))))
  assert.deepEqual(Object.values(masked), [...names.keys()])
  assert(Object.keys(masked).every((name) => /^\*{6,14}\d*$/.test(name)))
})
