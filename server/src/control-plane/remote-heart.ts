import type { Heart, HeartPlan } from '../worker/control-plane.ts'
import { askServer, ControlPlaneRefusal, type RemoteAddress } from './remote-calls.ts'

/** Shorter than the time between two beats. */
const BEAT_TIMEOUT_MS = 1_900

/** The beat of a worker over HTTPS. */
export const planRemoteHeart = (address: RemoteAddress): HeartPlan => ({
  // As the bundled command finds it: a file of its own.
  module: new URL(import.meta.url).href,
  options: address,
})

export function openHeart(options: unknown): Heart {
  const address = options as RemoteAddress
  return {
    beat: async () => {
      try {
        return (await askServer(address, 'beat', {}, { timeout_ms: BEAT_TIMEOUT_MS })) === true
      } catch (error) {
        // Its key was revoked: it may do nothing any more.
        if (error instanceof ControlPlaneRefusal && error.status === 401) return false
        throw error
      }
    },
    close: async () => {},
  }
}
