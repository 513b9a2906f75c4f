import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A cache for each home would compile the service and make an empty database once for each process. */
export const SHARED_CACHE = {
  XDG_CACHE_HOME: fileURLToPath(new URL('../../../node_modules/.cache', import.meta.url)),
}
export const CACHE_DIR = join(SHARED_CACHE.XDG_CACHE_HOME, 'runyard')
