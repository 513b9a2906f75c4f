import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig, SETTING_SHAPE } from './config.ts'
import { describeSettings } from './settings-in-force.ts'

const SECRET = 'hunter2hunter2hunter2hunter2hunter2hunter2'

test('no value of a secret is shown, in whichever setting somebody has put it', () => {
  const addresses = /_(URL(_\w+)?|ENDPOINT)$/
  const settings = describeSettings(
    SETTING_SHAPE,
    Object.fromEntries(
      Object.keys(SETTING_SHAPE).map((name) => [
        name,
        addresses.test(name) ? `https://me:${SECRET}@host.example/v1?key=${SECRET}#${SECRET}` : SECRET,
      ]),
    ),
  )
  const shown = settings.filter(({ value }) => value?.includes(SECRET)).map(({ name }) => name)
  for (const name of shown)
    assert.doesNotMatch(name, /KEY|TOKEN(?!S$)|SECRET|PASSWORD|ENDPOINTS|AGENTS/, name)
  for (const { name, value, is_set, is_secret } of settings) {
    assert(is_set, name)
    if (is_secret) assert.equal(value, null, name)
    if (addresses.test(name)) assert.equal(value, 'https://host.example/v1', name)
  }
  assert(settings.filter(({ is_secret }) => is_secret).length >= 25)
})

test('each setting that is read is described, with its value or its default', () => {
  const { settings } = readConfig({ RUNYARD_SLOTS: '3', RUNYARD_METRICS_TOKEN: SECRET, RUNYARD_POOL: '' })
  for (const { name, meaning } of settings) assert(meaning, name)
  const find = (name: string) => {
    const { meaning: _, ...rest } = settings.find((setting) => setting.name === name) ?? {}
    return rest
  }
  assert.deepEqual(find('RUNYARD_SLOTS'), {
    ...{
      name: 'RUNYARD_SLOTS',
      value: '3',
      is_set: true,
      is_secret: false,
      source: 'environment',
      default: '8',
    },
  })
  assert.deepEqual(find('RUNYARD_POOL'), {
    ...{ name: 'RUNYARD_POOL', value: null, is_set: false, is_secret: false, source: 'default' },
    default: 'default',
  })
  assert.deepEqual(find('RUNYARD_METRICS_TOKEN'), {
    ...{ name: 'RUNYARD_METRICS_TOKEN', value: null, is_set: true, is_secret: true, source: 'environment' },
    default: '',
  })
  const password = { DATABASE_URL: `postgres://me:${SECRET}@/runs?password=${SECRET}` }
  const [database] = readConfig(password).settings
  assert.deepEqual([database?.name, database?.value], ['DATABASE_URL', 'postgres://localhost/runs'])
  const odd = readConfig({ DATABASE_URL: `postgres://me:${SECRET}@host/runs` }).settings
  assert.equal(JSON.stringify(odd).includes(SECRET), false)
})
