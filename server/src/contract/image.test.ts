import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isImagePattern, judgeImage, normalizeImage } from './image.ts'

const DIGEST = `sha256:${'a'.repeat(64)}`
const OTHER = `sha256:${'b'.repeat(64)}`

test('names mean what engines take them for', () => {
  const full: Record<string, string | null> = {
    node: 'docker.io/library/node:latest',
    'node:24': 'docker.io/library/node:24',
    'acme/tool': 'docker.io/acme/tool:latest',
    'docker.io/node:24': 'docker.io/library/node:24',
    'index.docker.io/library/node:24': 'docker.io/library/node:24',
    'localhost/tool': 'localhost/tool:latest',
    'localhost:5000/tool:1': 'localhost:5000/tool:1',
    '10.0.0.1:5000/a/b': '10.0.0.1:5000/a/b:latest',
    'ghcr.io/acme/tool:v1.2': 'ghcr.io/acme/tool:v1.2',
    [`node:24@${DIGEST}`]: `docker.io/library/node@${DIGEST}`,
    [`ghcr.io/acme/tool@${DIGEST}`]: `ghcr.io/acme/tool@${DIGEST}`,
    // An engine would take the short form for the id of an image; the full one names a repository.
    ebb3118c4f66: 'docker.io/library/ebb3118c4f66:latest',
  }
  for (const [name, expected] of Object.entries(full)) assert.equal(normalizeImage(name), expected, name)
})

test('what is no name is refused', () => {
  for (const name of [
    '',
    '/',
    'node:',
    ':24',
    'a//b',
    '../b',
    'a/../b',
    'Node',
    'ghcr.io',
    'ghcr.io/',
    'ghcr.io./a/b',
    'ghcr.io/*',
    'user@host/a',
    'user:secret@ghcr.io/a/b',
    'http://ghcr.io/a',
    'node@sha256:abc',
    `node@${DIGEST}@${DIGEST}`,
    '[::1]:5000/a',
    'ghcr.io:x/a',
    'a b',
    'a'.repeat(600),
  ]) {
    const image = normalizeImage(name)
    // A host without a path is a repository of the public registry's.
    assert.equal(image, name === 'ghcr.io' ? 'docker.io/library/ghcr.io:latest' : null, name)
  }
})

test('a policy allows what its patterns name, and nothing that only looks alike', () => {
  const cases: Array<[pattern: string, allowed: string[], refused: string[]]> = [
    ['*', ['node', 'evil.example/x:1', `x@${DIGEST}`], ['not an image']],
    ['node', ['node', 'docker.io/library/node:latest'], ['node:24', 'acme/node', 'ghcr.io/library/node']],
    ['node:*', ['node', 'node:24', `node@${DIGEST}`], ['nodes:24', 'acme/node:24', 'localhost/node:24']],
    ['node:24*', ['node:24', 'node:24-bookworm'], ['node:23', `node:24@${DIGEST}`]],
    [`node@${DIGEST}`, [`node@${DIGEST}`, `node:24@${DIGEST}`], ['node', `node@${OTHER}`]],
    [
      'ghcr.io/acme/*',
      ['ghcr.io/acme/a', 'ghcr.io/acme/a/b:1', `ghcr.io/acme/a@${DIGEST}`],
      ['ghcr.io/acmes/a', 'ghcr.io:443/acme/a', 'ghcr.io.evil.example/acme/a', 'evil.example/ghcr.io/acme/a'],
    ],
    ['acme/*', ['acme/a', 'docker.io/acme/a:1'], ['acme.example/a', 'localhost/acme/a']],
    ['docker.io/*', ['node', 'acme/a:1'], ['quay.io/a/b']],
    ['ghcr.io/acme/*-ci:v*', ['ghcr.io/acme/a-ci:v1'], ['ghcr.io/acme/a-ci:1', 'ghcr.io/acme/-c:v1']],
  ]
  for (const [pattern, allowed, refused] of cases) {
    assert.equal(isImagePattern(pattern), true, pattern)
    const policy = { patterns: [pattern], local: false }
    for (const name of allowed) assert.equal(judgeImage(name, policy), 'pull', `${pattern}: ${name}`)
    for (const name of refused) assert.equal(judgeImage(name, policy), null, `${pattern}: ${name}`)
  }
  assert.equal(judgeImage('python:3', { patterns: ['node'], local: true }), 'local')
})

test('a pattern that matches nothing is told from one that does', () => {
  for (const text of ['', 'Node', '*.example/a', 'https://ghcr.io/acme', 'a b', 'node:']) {
    assert.equal(isImagePattern(text), false, text)
  }
})
