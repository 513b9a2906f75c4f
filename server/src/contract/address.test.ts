import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AmbientAgentConfig } from './agent-config.ts'
import { EnvironmentRequest } from './environment.ts'

const read = (url: string): string | null => {
  const parsed = EnvironmentRequest.safeParse({ name: 'x', repositories: [{ url }] })
  return parsed.success ? (parsed.data.repositories?.[0]?.url ?? '') : null
}

describe('the address of a repository', () => {
  for (const url of [
    'HTTPS://user:pass@example.org/a',
    'https://user:pass@example.org/a',
    'https://token@example.org',
    'hTTps://:pass@example.org/a',
    'https://@example.org/a',
    'https://:@example.org/a',
    'https://a@b@example.org/a',
    'https://user%3Apass@example.org/a',
    'https:user:pass@example.org/a',
    'https:/user:pass@example.org/a',
    'https:///user:pass@example.org/a',
    'https:\\\\user:pass@example.org/a',
    'https:/\\user:pass@example.org/a',
    'https://example.org\\@evil.example/a',
    'https://us\ner:pass@example.org/a',
    'ht\ttps://user:pass@example.org/a',
    ' https://user:pass@example.org/a',
    ' https://example.org/a',
    'https://example.org/a ',
    'https://example.org/a\u0000',
    'https://example.org/a\u001b]0;x\u0007',
    'https://example.org/\u202ea',
    'https://example.org/a?access_token=secret',
    'https://example.org/a#secret',
    'http://example.org/a',
    'ssh://git:secret@example.org/a',
    'http://example.org/a/b',
    'ext::sh',
    'shop',
    'acme/../shop',
    'acme/..',
    '-acme/shop',
    './acme/shop',
    '/srv/acme/shop',
    'C:/acme/shop',
    'mailto:a@example.org',
    'https://github.com/acme/shop/tree/main',
    'https://github.com/acme/shop/pull/7',
    'https://gitlab.com/acme/shop/-/tree/main',
    'git@example.org:a?token=x',
    'file:///etc',
    'ext::sh -c id',
    'https:example.org/a',
    'https:/example.org/a',
    'https://',
    'https:///a',
    '//example.org/a',
    'example.org/a',
    'https://example.org:99999/a',
    `https://example.org/${'a'.repeat(2048)}`,
    '',
  ]) {
    test(`is not ${JSON.stringify(url.slice(0, 60))}`, () => assert.equal(read(url), null))
  }

  for (const [url, kept] of [
    ['https://example.org/a.git', 'https://example.org/a.git'],
    ['HTTPS://Example.ORG:443/A', 'https://example.org/A'],
    ['https://example.org', 'https://example.org/'],
    ['https://example.org:8443/a/../b', 'https://example.org:8443/b'],
    ['https://exa%6Dple.org/@team/a', 'https://example.org/@team/a'],
    ['https://2130706433/a', 'https://127.0.0.1/a'],
    ['https://bücher.example/a', 'https://xn--bcher-kva.example/a'],
    ['https://[::1]/a', 'https://[::1]/a'],
    ['git@github.com:acme/shop', 'https://github.com/acme/shop'],
    ['git@github.com:acme/shop.git', 'https://github.com/acme/shop.git'],
    ['org-1234@github.com:acme/shop.git', 'https://github.com/acme/shop.git'],
    ['git@gitserver:/srv/acme/shop', 'https://gitserver/srv/acme/shop'],
    ['gitlab.example.org:group/sub/shop.git', 'https://gitlab.example.org/group/sub/shop.git'],
    ['ssh://git@example.org/a', 'https://example.org/a'],
    ['ssh://example.org:2222/acme/shop', 'https://example.org/acme/shop'],
    ['ssh://git@ssh.github.com:443/acme/shop.git', 'https://github.com/acme/shop.git'],
    ['git+ssh://git@example.org/acme/shop', 'https://example.org/acme/shop'],
    ['git://example.org/acme/shop.git', 'https://example.org/acme/shop.git'],
    ['git@ssh.dev.azure.com:v3/org/My%20Project/shop', 'https://dev.azure.com/org/My%20Project/_git/shop'],
    ['acme/shop', 'https://github.com/acme/shop'],
    ['acme/next.js', 'https://github.com/acme/next.js'],
    ['github.com/acme/shop', 'https://github.com/acme/shop'],
    ['www.github.com/acme/shop/', 'https://github.com/acme/shop'],
    ['git.internal.example:8443/acme/shop', 'https://git.internal.example:8443/acme/shop'],
    ['https://example.org/acme/shop.git/', 'https://example.org/acme/shop.git'],
    ['https://example.org/my%20shop', 'https://example.org/my%20shop'],
  ] as const) {
    test(`is kept of ${url} as it is dialled`, () => assert.equal(read(url), kept))
  }

  test('stays as it is when it is read again', () =>
    assert.equal(read(read('HTTPS://Example.org') ?? ''), 'https://example.org/'))
})

describe('the address of a tool server', () => {
  const take = (url: string) => AmbientAgentConfig.safeParse({ mcp_servers: { a: { url } } })
  for (const user of ['a%zz:b', 'a:b%', 'a:%e0%a4', '%ff:b', 'a:%c3%28'])
    test(`${user}@ cannot be decoded and is refused`, () => {
      assert.match(
        take(`https://${user}@tools.example/`).error?.issues[0]?.message ?? '',
        /write "%" itself as %25/,
      )
    })
  for (const user of ['a:b', 'a:%25zz', 'm%C3%BCller:%2F', ''])
    test(`${user}@ is taken`, () => assert.equal(take(`https://${user}@tools.example/%zz`).success, true))
})
