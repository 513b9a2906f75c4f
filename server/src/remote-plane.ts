/** A worker over HTTPS, and its control plane. */
import { readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Config } from './config.ts'
import { AppError } from './contract/error.ts'
import { ControlPlaneRefusal } from './control-plane/remote-calls.ts'
import { RemoteControlPlane } from './control-plane/remote-control-plane.ts'
import { explainDataDir, prepareDataDir } from './data-dir.ts'
import type { Persist } from './database-wait.ts'
import { isUnavailable } from './store/faults.ts'
import { logBlocks } from './watchdog/event-loop.ts'
import type { Companions } from './work.ts'
import { LostAtStart } from './worker/beat.ts'

const LOOK_MS = 2_000

/** No database, no secret key, no storage, and no housekeeping but for the sandboxes of this machine. */
export async function startRemoteWorker(
  config: Config,
  {
    pool: wanted,
    signal,
    companions,
    onWait: say = (missing) => log.warn(missing),
  }: {
    pool?: string
    signal?: AbortSignal
    companions?: Pick<Companions, 'gateway'>
    onWait?: (missing: string) => void
  },
  log: Logger,
) {
  const persist = persistRemotely({ say, signal })
  if (config.server?.startsWith('http:'))
    log.warn(
      { server: config.server },
      'The server is asked without TLS: keys and secrets travel in the clear.',
    )
  const plane = await openRemotePlane(config)
  const { installation_id, pool } = await persist(() => plane.welcome())
  if (wanted !== undefined && wanted !== pool)
    throw new AppError('invalid_request', `--pool: the pool key is for ${pool}, not for ${wanted}.`)
  try {
    prepareDataDir(config.data_dir)
    const { work } = await import('./work.ts')
    const worker = await work({
      // The results of setups are not shared over HTTPS: another worker could have put something else there.
      config: { ...config, pool, database_url: undefined, prepared: { max_bytes: 0 } },
      ...{ plane, log, persist, embedded: false },
      readInstallation: async () => installation_id,
      ...(companions ? { companions } : {}),
    })
    const stopWatching = logBlocks(log)
    return {
      ...{ pool, sandbox: worker.backend.name, sandbox_description: worker.backend.description },
      async stop() {
        worker.drain()
        await worker.stop()
        await stopWatching()
      },
    }
  } catch (error) {
    throw explainDataDir(error, config.data_dir)
  }
}

export async function openRemotePlane(config: Config): Promise<RemoteControlPlane> {
  const { server, version } = config
  if (server === undefined) throw new Error('There is no server.')
  return new RemoteControlPlane({ server, pool_key: await readPoolKey(config), version })
}

async function readPoolKey({ pool_key, pool_key_file }: Config): Promise<string> {
  if (pool_key !== undefined) return pool_key
  if (pool_key_file === undefined)
    throw new AppError(
      'invalid_request',
      'A worker with --server needs a pool key: --pool-key-file, RUNYARD_POOL_KEY_FILE or RUNYARD_POOL_KEY. `runyard keys create --pool POOL` makes one.',
    )
  const key = await readFile(pool_key_file, 'utf8').catch((cause: unknown) => {
    const why = cause instanceof Error && 'code' in cause ? String(cause.code) : 'it cannot be read'
    throw new AppError('invalid_request', `RUNYARD_POOL_KEY_FILE: ${pool_key_file}: ${why}`, { cause })
  })
  return key.trim()
}

/** Repeats a step of the start until the server answers. Throws what it refuses, in its words, and the signal's reason. */
export function persistRemotely({
  say,
  signal,
}: {
  say: (missing: string) => void
  signal?: AbortSignal | undefined
}): Persist {
  return async (step) => {
    for (let said = ''; ; ) {
      try {
        return await step()
      } catch (error) {
        // Silent at its very start, for want of a processor say: another id may be luckier.
        if (!isUnavailable(error) && !(error instanceof LostAtStart)) throw explain(error)
        const text = error instanceof Error ? error.message : String(error)
        if (text !== said) say(text)
        said = text
        await wait(LOOK_MS, undefined, signal ? { signal } : {})
      }
    }
  }
}

/** A refusal of the server, in its words. */
function explain(error: unknown): unknown {
  if (!(error instanceof ControlPlaneRefusal)) return error
  const code = [401, 403].includes(error.status) ? 'not_authorized' : 'operation_not_supported'
  return new AppError(code, error.message, { cause: error })
}
