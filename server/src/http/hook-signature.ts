/** Whether what was posted comes from who knows the trigger's secret. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { isRecord } from '../contract/storable-text.ts'
import type { TriggerVerification } from '../contract/trigger.ts'
import { MAX_HOOK_TOKENS, requireSmall } from './body-size.ts'

/** What was posted. */
export interface Posted {
  /** By their names in lower case. */
  headers: Record<string, string>
  body: Buffer
}

/** How far a sender's clock, or its patience, may be off. As Standard Webhooks and Slack have it. */
const TOLERANCE_MS = 5 * 60_000

/**
 * Standard Webhooks signs id, time and body with dots between them. Of such a body the same signature fits a longer id as well, and no
 * JSON begins so.
 */
const BEGINS_LIKE_A_TIME = /^\d+\./

/** Of Standard Webhooks: one for each secret that its receiver may know. */
const MOST_SIGNATURES = 16

/**
 * Of each sender, as it documents its signature: https://www.standardwebhooks.com,
 * https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries,
 * https://docs.gitlab.com/user/project/integrations/webhooks, https://docs.slack.dev/authentication/verifying-requests-from-slack,
 * https://linear.app/developers/webhooks. GitHub and GitLab say no time.
 */
const CHECKS: Record<TriggerVerification, (secret: string, posted: Posted) => boolean> = {
  // Their library hashes in JavaScript: 50 ms of a body of 2 MiB, for which nobody needs the secret.
  standard_webhooks(secret, { headers, body }) {
    const {
      'webhook-id': id = '',
      'webhook-timestamp': seconds = '',
      'webhook-signature': given = '',
    } = headers
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
    const hash = createHmac('sha256', key).update(`${id}.${seconds}.`).update(body).digest('base64')
    const is_right = given.split(' ', MOST_SIGNATURES).some((one) => isSame(one, `v1,${hash}`))
    const is_clear = !BEGINS_LIKE_A_TIME.test(body.subarray(0, 32).toString('latin1'))
    return is_right && is_clear && id !== '' && isSoon(seconds)
  },
  github: (secret, { headers, body }) =>
    isSame(headers['x-hub-signature-256'], `sha256=${hmac(secret, body)}`),
  gitlab: (secret, { headers }) => isSame(headers['x-gitlab-token'], secret),
  slack(secret, { headers, body }) {
    const seconds = headers['x-slack-request-timestamp'] ?? ''
    const signed = Buffer.concat([Buffer.from(`v0:${seconds}:`), body])
    const is_right = isSame(headers['x-slack-signature'], `v0=${hmac(secret, signed)}`)
    return is_right && isSoon(seconds)
  },
  linear(secret, { headers, body }) {
    return isSame(headers['linear-signature'], hmac(secret, body)) && isRecent(linearTime(body))
  },
}

export const isSigned = (verification: TriggerVerification, secret: string, posted: Posted): boolean =>
  CHECKS[verification](secret, posted)

const hmac = (secret: string, bytes: Uint8Array): string =>
  createHmac('sha256', secret).update(bytes).digest('hex')

/** Takes as long whatever is given: digests are compared, which are all of one length. */
const isSame = (given: string | undefined, right: string): boolean =>
  timingSafeEqual(digest(given ?? ''), digest(right))

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

const isSoon = (seconds: string): boolean => /^\d{1,12}$/.test(seconds) && isRecent(Number(seconds) * 1000)

const isRecent = (time_ms: number): boolean => Math.abs(Date.now() - time_ms) <= TOLERANCE_MS

/** Linear signs its time as part of the body. */
function linearTime(body: Buffer): number {
  try {
    // Its sender may be anybody who made a trigger.
    requireSmall(body, MAX_HOOK_TOKENS)
    const payload: unknown = JSON.parse(body.toString('utf8'))
    return isRecord(payload) && typeof payload.webhookTimestamp === 'number'
      ? payload.webhookTimestamp
      : Number.NaN
  } catch {
    return Number.NaN
  }
}
