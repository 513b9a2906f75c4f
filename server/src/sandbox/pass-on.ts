import { once } from 'node:events'
import type { Writable } from 'node:stream'

/** Resolves when the target has room again, or nobody reads it any more. */
export async function passOn(target: Writable, data: Buffer): Promise<void> {
  if (data.length === 0 || target.destroyed || target.write(data)) return
  const waiting = new AbortController()
  const { signal } = waiting
  const either = [once(target, 'drain', { signal }), once(target, 'close', { signal })]
  try {
    await Promise.race(either)
  } finally {
    // Else each wait would leave its listeners.
    waiting.abort()
    await Promise.allSettled(either)
  }
}
