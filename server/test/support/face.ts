/** The HTTP face alone, on a database of its own: without a worker and without a port. */
import { join } from 'node:path'
import { after, before } from 'node:test'
import type { FastifyInstance } from 'fastify'
import type { Blobs } from '../../src/blobs/blobs.ts'
import { openDiskBlobs } from '../../src/blobs/disk.ts'
import type { Store } from '../../src/store/db.ts'
import { Watch } from '../../src/store/watch.ts'
import { ORIGIN, openApp } from './app.ts'
import { onEitherDatabase } from './databases.ts'
import { injectedFetch } from './injected-fetch.ts'
import { type KeySpec, makeKeys } from './seed-keys.ts'
import { apiOf, temporaryDirectory } from './service.ts'
import { RowWorker } from './stored-runs.ts'

export interface Face {
  store: Store
  watch: Watch
  /** The files of runs. */
  blobs: Blobs
  app: FastifyInstance
  /** What links are made of. */
  origin: string
  base_url: string
  /** Has `app` listen; where it does. */
  listen(): Promise<string>
  /** Asks `app` for its addresses, by `inject`. */
  fetch: typeof fetch
  /** Of a pool that none of its own serves. */
  worker: RowWorker
  keys: Record<Person, string>
  /** Each a principal of its own. */
  admin: Api
  other: Api
  viewer: Api
  /** With another key. */
  as(api_key: string): Api
  stop(): Promise<void>
}

type Settings = Record<string, string>
type Api = ReturnType<typeof apiOf>
type Person = 'admin' | 'other' | 'viewer'
const PEOPLE: Record<Person, KeySpec> = {
  admin: { role: 'admin' },
  other: { role: 'member' },
  viewer: { role: 'viewer' },
}

/** `env`: settings of the service. Closes all but the store. */
export async function openFace(store: Store, env: Settings = {}): Promise<Face> {
  const data_dir = temporaryDirectory('face')
  const watch = new Watch(store)
  await watch.start()
  const app = openApp(store, { RUNYARD_DATA_DIR: data_dir, ...env }, watch)
  const origin = env.RUNYARD_PUBLIC_URL ?? ORIGIN
  const base_url = `${origin}/api/v1`
  let listening: Promise<string> | undefined
  const listen = () => {
    listening ??= app.listen({ host: '127.0.0.1', port: 0 })
    return listening
  }
  const fetch = injectedFetch(app, origin, listen)
  const as = (api_key: string): Api => apiOf({ base_url, api_key, fetch })
  const keys = await makeKeys(store.db, PEOPLE)
  const blobs = openDiskBlobs(join(data_dir, 'blobs'))
  return {
    ...{ store, watch, blobs, app, origin, base_url, listen, fetch, keys, as },
    worker: new RowWorker({ store, watch, blobs }),
    ...{ admin: as(keys.admin), other: as(keys.other), viewer: as(keys.viewer) },
    async stop() {
      await app.close()
      await watch.close()
    },
  }
}

/**
 * Registers what the HTTP face decides by itself, which most of an API is; with `--long` on the embedded database as well. What
 * a worker does with a run, `face().worker` writes where the test says so.
 */
export function onFace(
  name: string,
  body: (face: () => Face) => void,
  openEnv: () => Settings | Promise<Settings> = () => ({}),
): void {
  onEitherDatabase(name, (open) => {
    let face: Face | undefined
    before(async () => {
      const env = await openEnv()
      face = await openFace(await open(), env)
    })
    after(() => face?.stop())
    body(() => {
      if (!face) throw new Error('The face is not up.')
      return face
    })
  })
}
