import { setTimeout as wait } from 'node:timers/promises'
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'

/** Where blobs are on a store that speaks S3. */
export interface S3Place {
  bucket: string
  /** Empty, or ends with `/`. */
  prefix: string
  region: string
  /** Any store but Amazon's; its buckets are paths. */
  endpoint?: string
  /** Else what the machine has: a role, or a profile in `~/.aws`. */
  credentials?: { accessKeyId: string; secretAccessKey: string; sessionToken?: string }
}

const CONNECT_MS = 5_000
/** Without a byte in either direction. */
const SILENCE_MS = 15_000
/** From a request's first failure on. */
export const PATIENCE_MS = 20_000
const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 2_000

type RetryStrategy = Extract<
  NonNullable<S3ClientConfig['retryStrategy']>,
  { acquireInitialRetryToken: unknown }
>
type RetryToken = Awaited<ReturnType<RetryStrategy['acquireInitialRetryToken']>>

export const createS3Client = (place: S3Place, patience_ms = PATIENCE_MS): S3Client =>
  new S3Client({
    region: place.region,
    ...(place.endpoint ? { endpoint: place.endpoint, forcePathStyle: true } : {}),
    ...(place.credentials ? { credentials: place.credentials } : {}),
    retryStrategy: createPatience(patience_ms),
    requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: SILENCE_MS },
    // Some stores and proxies never say it, and each request waits for it.
    expectContinueHeader: false,
    // The reader counts bytes and goes on where an answer broke off, which the library's check cannot follow.
    responseChecksumValidation: 'WHEN_REQUIRED',
  })

/**
 * Tries for a time, each request for itself. The library's own strategies give up after a number of tries, which an absence of
 * some seconds uses up, and share a store of tries among all requests, which many at once use up.
 */
function createPatience(patience_ms: number): RetryStrategy {
  const since = new WeakMap<RetryToken, number>()
  const createToken = (count: number): RetryToken => ({
    getRetryCount: () => count,
    getRetryDelay: () => 0,
  })
  return {
    acquireInitialRetryToken: async () => createToken(0),
    async refreshRetryTokenForRetry(token, { errorType }) {
      const now = performance.now()
      const began = since.get(token) ?? now
      const is_passing = errorType === 'TRANSIENT' || errorType === 'THROTTLING'
      if (!is_passing || now - began >= patience_ms) throw new Error('It is not tried again.')
      const next = createToken(token.getRetryCount() + 1)
      since.set(next, began)
      const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** token.getRetryCount())
      // Many that failed together must not come back together.
      await wait(longest * (0.5 + Math.random() / 2))
      return next
    },
    recordSuccess() {},
  }
}
