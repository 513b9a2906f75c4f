import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configOf, formOf } from './environment-form.ts'

const CONFIG = {
  name: 'site',
  docker_image: 'node:24',
  repositories: [
    { url: 'https://github.com/acme/site', ref: 'main', depth: 0 },
    { local_path: '/srv/tools', directory: 'tools' },
  ],
  setup_commands: ['npm ci', 'npm run build'],
  variables: { GREETING: '***', EMPTY: '' },
  secrets: [{ name: 'NPM_TOKEN' }],
  egress: 'none' as const,
  allowed_hosts: ['api.example.com', '*.example.org'],
  permissions: [{ action: 'ask' as const, tool: 'bash', pattern: 'git push*' }],
  models: true,
  limits: { memory_mb: 2048, cpus: 0.5, pids: 100 },
  package_registries: false,
}

test('a form that nobody touched gives what it was made from', () => {
  assert.deepEqual(configOf(formOf(CONFIG), CONFIG), CONFIG)
  assert.deepEqual(configOf({ ...formOf(undefined), name: ' new ' }, undefined), { name: 'new' })
})

test('commands of several lines stay as they are', () => {
  const config = { name: 'long', setup_commands: ['for i in 1 2; do\n  echo $i\ndone', 'npm ci'] }
  assert.deepEqual(configOf({ ...formOf(config), setup_commands: 'x' }, config), config)
})

test('what the form does not show stays, and what is taken out goes', () => {
  const form = {
    ...formOf(CONFIG),
    repositories: 'https://github.com/acme/site next\n',
    variables: 'GREETING=***\nMORE=a=b c\n',
    secrets: '',
    setup_commands: '',
    ...{
      egress: '' as const,
      allowed_hosts: ' ',
      permissions: '',
      models: false,
      memory_mb: '',
      cpus: '1.5',
    },
  }
  assert.deepEqual(configOf(form, CONFIG), {
    name: 'site',
    docker_image: 'node:24',
    repositories: [{ url: 'https://github.com/acme/site', ref: 'next', depth: 0 }],
    variables: { GREETING: '***', MORE: 'a=b c' },
    limits: { cpus: 1.5, pids: 100 },
    package_registries: false,
  })
})

test('a repository is an address unless it is plainly a path', () => {
  const read = (repositories: string, before?: typeof CONFIG) =>
    configOf({ ...formOf(undefined), name: 'x', repositories }, before).repositories
  assert.deepEqual(read('git@github.com:acme/shop feat/機能\nacme/shop\nshop\n/srv/my repo main\n./here'), [
    { url: 'git@github.com:acme/shop', ref: 'feat/機能' },
    { url: 'acme/shop' },
    { url: 'shop' },
    { local_path: '/srv/my repo', ref: 'main' },
    { local_path: './here' },
  ])
  const known = { ...CONFIG, repositories: [{ local_path: 'my tools', directory: 'tools' }] }
  assert.deepEqual(configOf(formOf(known), known), known)
})
