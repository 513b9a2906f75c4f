import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { readConfig } from './config.ts'
import { PROVIDER_SETTINGS } from './config-providers.ts'

test('empty variables count as absent', () => {
  const config = readConfig({ DATABASE_URL: '', RUNYARD_PORT: '', OPENAI_API_KEY: ' ' })
  assert.equal(config.database_url, undefined)
  assert.equal(config.port, 4200)
  assert.deepEqual(config.models, {})
})

for (const [name, value, says] of [
  ['DATABASE_URL', 'mysql://localhost/x', 'postgres://'],
  ['DATABASE_URL', 'postgres://me:50%@localhost/x', '%25'],
  ['OPENAI_BASE_URL', 'https://a%zz:b@models.example/v1', '%25'],
  ['RUNYARD_PUBLIC_URL', 'https://a%zz:b@runs.example', '%25'],
  ['RUNYARD_PORT', '65536', '65535'],
  ['RUNYARD_PORT', '-1', 'whole number'],
  ['RUNYARD_SECRET_KEY', 'short', '32 characters'],
  ['RUNYARD_PUBLIC_URL', 'ftp://example.org', 'http'],
  ['RUNYARD_SANDBOX', 'chroot', 'bubblewrap'],
  ['RUNYARD_KUBERNETES_NAMESPACE', 'Not A Name', 'namespace'],
  ['RUNYARD_KUBERNETES_START_SECONDS', '1', '5'],
  ['RUNYARD_SLOTS', '0', '1'],
  ['RUNYARD_GIT_TOKEN', 'short', '8 characters'],
  ['RUNYARD_GIT_TOKEN', 'http://token@git.example', 'https://TOKEN@HOST'],
  ['RUNYARD_GIT_TOKEN', 'https://git.example', 'https://TOKEN@HOST'],
  ['RUNYARD_GIT_TOKEN', 'https://token@git.example/acme', 'https://TOKEN@HOST'],
  ['RUNYARD_SMTP_URL', 'https://mail.example', 'smtps'],
  ['RUNYARD_MAIL_FROM', 'nobody', 'e-mail address'],
  ['RUNYARD_MAIL_DOMAINS', '@example.com', 'example.com,example.org'],
  ['RUNYARD_GIT_HOSTS', 'git.acme.example', '=gitlab'],
  ['RUNYARD_GIT_HOSTS', 'git.acme.example=gitea', '=gitlab'],
  ['RUNYARD_GIT_HOSTS', 'https://git.acme.example=github', '=gitlab'],
  ['RUNYARD_CONTEXT_WINDOWS', '{"qwen3": 32768}', 'provider/model'],
  ['RUNYARD_CONTEXT_WINDOWS', '{"*": 10}', '1000'],
  ['RUNYARD_CONTEXT_WINDOWS', '32768', 'record'],
  ['RUNYARD_MAX_OUTPUT_TOKENS', '{"qwen3": 32768}', 'provider/model'],
  ['RUNYARD_MAX_OUTPUT_TOKENS', '{"*": 10}', '256'],
  ['RUNYARD_ACP_AGENTS', '{"mine": "mine --acp"}', '"command"'],
  ['RUNYARD_ACP_AGENTS', '{"oz": {"command": ["mine"]}}', '"command"'],
  ['RUNYARD_ACP_AGENTS', '{mine', '"command"'],
] as const) {
  test(`${name}=${value} is refused with a line that names it`, () => {
    assert.throws(
      () => readConfig({ [name]: value }),
      (error: Error) => error.message.includes(`${name}:`) && error.message.includes(says),
    )
  })
}

test('letters need the domains that they may go to', () => {
  const env = { RUNYARD_SMTP_URL: 'smtp://mail.example', RUNYARD_MAIL_FROM: 'me@mail.example' }
  for (const domains of [undefined, ''])
    assert.throws(
      () => readConfig({ ...env, ...(domains === undefined ? {} : { RUNYARD_MAIL_DOMAINS: domains }) }),
      /RUNYARD_MAIL_DOMAINS: is needed with RUNYARD_SMTP_URL/,
    )
  assert.deepEqual(readConfig({ ...env, RUNYARD_MAIL_DOMAINS: 'A.example' }).mail?.domains, ['a.example'])
})

test('files have an origin of their own only where browsers and cookies keep it apart', () => {
  const of = (page: string | undefined, files: string, more = {}) =>
    readConfig({ ...(page ? { RUNYARD_PUBLIC_URL: page } : {}), RUNYARD_DOWNLOADS_URL: files, ...more })
  assert.equal(of('https://runs.example', 'https://files.example/').downloads_url, 'https://files.example')
  for (const [page, files, says] of [
    [undefined, 'https://files.example', /RUNYARD_DOWNLOADS_URL: needs RUNYARD_PUBLIC_URL/],
    ['https://runs.example', 'https://RUNS.example:8443', /another host name/],
    ['https://runs.example', 'https://more.example', /another host name/],
    ['http://runs.example', 'https://files.example', /https/],
    ['https://runs.example', 'http://files.example', /https/],
    ['https://runs.example', 'ftp://files.example', /RUNYARD_DOWNLOADS_URL: must be an http/],
  ] as const)
    assert.throws(
      () => of(page, files, { RUNYARD_ALLOWED_HOSTS: 'More.example' }),
      (error: Error) => says.test(error.message),
    )
})

test('a provider counts with a key or an address of its own', () => {
  const { models } = readConfig({ OPENAI_BASE_URL: 'http://localhost:11434/v1', GEMINI_API_KEY: 'k' })
  assert.deepEqual(models, { openai: { base_url: 'http://localhost:11434/v1' }, google: { api_key: 'k' } })
})

test('git hosts have a kind, and the port of https goes without saying', () => {
  const { git_hosts } = readConfig({
    RUNYARD_GIT_HOSTS: 'Git.Acme.example=gitlab, ghe.acme.example:8443=github,x.example:443=github',
  })
  assert.deepEqual(git_hosts, {
    ...{ 'git.acme.example': 'gitlab', 'ghe.acme.example:8443': 'github', 'x.example': 'github' },
  })
  assert.deepEqual(readConfig({}).git_hosts, {})
})

for (const [text, host, username, token] of [
  ['github_pat_11AB', 'github.com', null, 'github_pat_11AB'],
  ['https://glpat-%2F1@git.example:8443', 'git.example:8443', null, 'glpat-/1'],
  ['https://me:100%secret@git.example/', 'git.example', 'me', '100%secret'],
] as const)
  test(`RUNYARD_GIT_TOKEN=${text} is a token for ${host}`, () => {
    assert.deepEqual(readConfig({ RUNYARD_GIT_TOKEN: text }).git_token, { host, username, token })
  })

test('docs/configuration.md names every variable the service reads, and no other', () => {
  const sources = ['./config.ts', './config-kubernetes.ts', './config-mail.ts', './config-models.ts']
  const source = sources.map((file) => readFileSync(new URL(file, import.meta.url), 'utf8')).join('')
  const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8')
  const read = new Set([
    ...[...source.matchAll(/^ {2}([A-Z][A-Z0-9_]+): /gm)].map(([, name]) => name),
    ...Object.keys(PROVIDER_SETTINGS),
  ])
  const clients = ['RUNYARD_BASE_URL', 'RUNYARD_API_KEY', 'RUNYARD_PROFILE']
  const told = new Set([...page.matchAll(/`([A-Z][A-Z]+_[A-Z0-9_]+)`/g)].map(([, name]) => name))
  assert.deepEqual([...told].filter((name) => !clients.includes(name ?? '')).sort(), [...read].sort())
})
