import assert from 'node:assert/strict'
import { test } from 'node:test'
import picomatch from 'picomatch'
import { pathMatcher } from './match-path.ts'

const PATHS =
  `a b c ab abc a.ts .env .git/x a/b a/b/c a/b/c.ts a/.b/c src/a.ts src/b.tsx src/c.js src/x/y/a.test.ts b/a.ts a-b a+b
  a1 a2 a9 README LICENSE.md test_a.py x/test_b.py !a a] [a] {a} a,b (a) é 1 ab/ab aab`.split(/\s+/)

test('patterns mean what they do elsewhere', () => {
  for (const pattern of [
    ...['*', '**', '**/*', '*.ts', '**/*.ts', '**.ts', 'a/**/c', 'a/**/c.ts', '**/a.ts', '*/**'],
    ...['?', '??', 'a?', '*/?', '[ab]', '[a-b]*', '[^a]*', 'a[0-9]', 'a[12]', '{a,b}', '{a,b}.{ts,tsx}'],
    ...[
      '{README,LICENSE}*',
      '**/test_*.py',
      'src/**/*.{ts,tsx,js}',
      '{src/*,b/*}.ts',
      '{a,{b,c}}',
      '{a}',
      'a{1..2}',
      '{a..c}',
    ],
    ...[
      '!a',
      '!!a',
      '!**/*.ts',
      '\\!a',
      'a\\+b',
      'a+b',
      '\\[a\\]',
      'a{',
      '.*',
      '.env',
      '**/.b/*',
      'src/**/a*',
      '{a,}b',
      'a-b',
    ],
  ]) {
    const matches = pathMatcher(pattern, { groups: false })
    const other = picomatch(pattern, { dot: true, noextglob: true })
    assert.deepEqual(
      PATHS.filter(matches),
      PATHS.filter((path) => other(path)),
      pattern,
    )
  }
  const either = pathMatcher('src/(a|c).*', { groups: true })
  assert.deepEqual(PATHS.filter(either), ['src/a.ts', 'src/c.js'])
  assert.deepEqual(PATHS.filter(pathMatcher('[!ab]', { groups: false })), ['c', 'é', '1'])
  // What is below a folder is not a file of its name.
  for (const pattern of ['a/**', '{a,d}/**', 'a/'.concat('**/**')])
    assert.deepEqual(PATHS.filter(pathMatcher(pattern, { groups: false })), [
      'a/b',
      'a/b/c',
      'a/b/c.ts',
      'a/.b/c',
    ])
  assert.equal(pathMatcher('[...slug]/?', { groups: false })('[...slug]/é'), true)
})

test('no name takes time without end', () => {
  for (const pattern of [
    ...[
      '(a+|a+)+c',
      '{a,aa}+c',
      '*a*a*a*a*a*a*b',
      '(a*)*b',
      '(a|a)?(a|aa)*b',
      `${'{a,aa}'.repeat(60)}b`,
      `${'(a|aa)'.repeat(60)}b`,
    ],
    ...[
      `${'**/'.repeat(100)}b`,
      `${'**/a/'.repeat(90)}b`,
      `${'*'.repeat(400)}b`,
      '{'.repeat(500),
      `${'{a,'.repeat(150)}b`,
    ],
  ])
    for (const path of ['a'.repeat(255), 'a/'.repeat(2000), 'aa/'.repeat(1000)])
      assert.equal(pathMatcher(pattern, { groups: true })(path), false, pattern)
})
