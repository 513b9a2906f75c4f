import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { migrateDatabase, readConfig, startServe, startWorkerRole } from '../../src/main.ts'
import { openPostgres } from '../../src/store/db.ts'
import { createMigrated, stopTestServer } from './databases.ts'
import { LONG } from './once.ts'
import { findPostgres } from './postgres-server.ts'
import { type KeySpec, makeKeys } from './seed-keys.ts'
import { apiOf, startService, temporaryDirectory } from './service.ts'

/** A pool that nobody serves: its runs stay QUEUED. */
export const NOBODY = 'nobody'
/** Few, so that a test can fill them all. */
export const SLOTS = 3

export interface JourneyService {
  base_url: string
  /** Of a principal of its own each. */
  admin: ReturnType<typeof apiOf>
  other: ReturnType<typeof apiOf>
  viewer: ReturnType<typeof apiOf>
  keys: Record<Person, string>
  stop(): Promise<void>
}

type Journeys = (service: () => JourneyService) => void

type Person = 'admin' | 'other' | 'viewer'
const PEOPLE: Record<Person, KeySpec> = {
  admin: { role: 'admin' },
  other: { role: 'member' },
  viewer: { role: 'viewer' },
}
const SETTINGS = {
  RUNYARD_SLOTS: String(SLOTS),
  RUNYARD_GRACE_SECONDS: '0',
  // Tests ask more than people do.
  RUNYARD_REQUESTS_PER_MINUTE: '0',
  RUNYARD_CREATES_PER_MINUTE: '0',
  RUNYARD_MIN_SCHEDULE_SECONDS: '1',
}

/**
 * Registers the journeys against an API and a worker on PostgreSQL, in this process, and with `--long` against what `dev` is on its
 * embedded database as well: tests of the store show on both databases what differs between them, or those of the command line
 * and the page ask the same of `dev`.
 */
export function onEitherService(name: string, body: Journeys): void {
  if (LONG) registerOn('dev', name, body)
  registerOn('PostgreSQL', name, body)
}

function registerOn(kind: 'dev' | 'PostgreSQL', name: string, body: Journeys): void {
  const missing =
    kind === 'dev' || findPostgres() || process.env.RUNYARD_TEST_POSTGRES
      ? false
      : 'PostgreSQL is not installed'
  describe(`${name}, ${kind}`, { skip: missing }, () => {
    let service: JourneyService | undefined
    before(async () => {
      service = await (kind === 'dev' ? startDev() : startOnPostgres())
    })
    after(() => service?.stop())
    body(() => {
      if (!service) throw new Error('The service is not up.')
      return service
    })
  })
}

async function startDev(): Promise<JourneyService> {
  const service = await startService({ embedded: true, env: SETTINGS })
  const keys = await makeKeys(service.store.db, PEOPLE)
  return toJourneyService(service.base_url, keys, async () => {
    await service.stop()
    assert.doesNotMatch(service.log(), /unhandled|uncaught|"level":[56]0|MaxListeners/i)
  })
}

async function startOnPostgres(): Promise<JourneyService> {
  const database = await createMigrated()
  const config = readConfig({
    ...SETTINGS,
    DATABASE_URL: database.url,
    RUNYARD_DATA_DIR: temporaryDirectory('journeys'),
    RUNYARD_PORT: '0',
    RUNYARD_SANDBOX: 'bubblewrap',
    RUNYARD_ALLOW_WEAK_LIMITS: '1',
    RUNYARD_LOG_LEVEL: 'silent',
  })
  await migrateDatabase({ config })
  const store = openPostgres({ url: database.url, max: 1 })
  const keys = await makeKeys(store.db, PEOPLE)
  await store.close()
  const api = await startServe({ config })
  const worker = await startWorkerRole({ config })
  return toJourneyService(api.base_url, keys, async () => {
    await worker.stop()
    await api.stop()
    await database.drop()
    await stopTestServer()
  })
}

function toJourneyService(
  base_url: string,
  keys: Record<Person, string>,
  stop: () => Promise<void>,
): JourneyService {
  const as = (person: Person) => apiOf({ base_url, api_key: keys[person] })
  return { base_url, keys, admin: as('admin'), other: as('other'), viewer: as('viewer'), stop }
}
