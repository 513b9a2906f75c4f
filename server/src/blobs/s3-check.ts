import { randomUUID } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { ListObjectsV2Command } from '@aws-sdk/client-s3'
import { openS3Blobs } from './s3.ts'
import { createS3Client, type S3Place } from './s3-client.ts'

/** A start fails soon rather than late. */
const PATIENCE_MS = 1_000
const CONTENT = 'runyard'

/** The storage cannot be used as it is set up; the message says why and what helps. */
export class S3Refusal extends Error {
  override name = 'S3Refusal'
  /** Waiting may help. */
  readonly is_away: boolean

  constructor(message: string, { cause, is_away }: { cause: unknown; is_away: boolean }) {
    super(message, { cause })
    this.is_away = is_away
  }
}

/** Lists, writes, reads and deletes once. Throws `S3Refusal`. */
export async function checkS3(place: S3Place): Promise<void> {
  const client = createS3Client(place, PATIENCE_MS)
  const blobs = openS3Blobs(client, place)
  const key = `checks/${randomUUID()}`
  let doing = 'list'
  try {
    await client.send(new ListObjectsV2Command({ Bucket: place.bucket, Prefix: place.prefix, MaxKeys: 1 }))
    doing = 'write'
    await blobs.put(key, Buffer.from(CONTENT))
    doing = 'read'
    const read = await blobs.get(key)
    if ((read && (await text(read))) !== CONTENT) throw new Error('It gives other bytes than were written.')
    doing = 'delete'
    await blobs.delete(key)
  } catch (error) {
    const fault = rootOf(error)
    throw new S3Refusal(explain(fault, place, doing), { cause: error, is_away: isAway(fault) })
  } finally {
    client.destroy()
  }
}

/** What the library says of an answer, as far as it is used here. */
interface Fault {
  name: string
  message: string
  code: string
  status: number | undefined
  region: string | undefined
}

function rootOf(error: unknown): Fault {
  let root = error
  while (root instanceof Error && root.cause instanceof Error && !('$metadata' in root)) root = root.cause
  const { name, message, code, $metadata, $response } = root as Error & {
    code?: unknown
    $metadata?: { httpStatusCode?: number }
    $response?: { headers?: Record<string, string> }
  }
  return {
    name,
    message,
    code: String(code ?? ''),
    status: $metadata?.httpStatusCode,
    region: $response?.headers?.['x-amz-bucket-region'],
  }
}

const NETWORK = /^(ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EPIPE)$/
const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO/

const isAway = ({ name, code, status = 0 }: Fault): boolean =>
  NETWORK.test(code) || name === 'TimeoutError' || status >= 500 || status === 429

function explain(fault: Fault, { bucket, prefix, region, endpoint }: S3Place, doing: string): string {
  const { name, code, message, status } = fault
  const store = endpoint ?? `Amazon S3 in ${region}`
  const said = `${name}: ${message.split('\n')[0]}`
  if (name === 'NoSuchBucket') return `There is no bucket "${bucket}" at ${store}. Make it, or name another.`
  if (name === 'RequestTimeTooSkewed')
    return `The clock of this machine is wrong by the clock of ${store}. Set it; time servers do that.`
  if (
    /^(PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraintException)$/.test(name) ||
    status === 301
  )
    return `The bucket "${bucket}" is not in the region ${region}. Set AWS_REGION${fault.region ? `=${fault.region}` : ''}. (${said})`
  if (
    /^(InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|InvalidToken|InvalidClientTokenId)$/.test(name)
  )
    return `${store} does not know the key, or its secret is another. Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. (${said})`
  if (name === 'CredentialsProviderError')
    return 'There is no key for it: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give this machine a role.'
  if (status === 403)
    return `The key may not ${doing} in the bucket "${bucket}"${prefix ? ` below ${prefix}` : ''}. It needs s3:ListBucket, s3:GetObject, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload. (${said})`
  if (CERTIFICATE.test(code))
    return `The certificate of ${store} is not trusted here: name its authority in NODE_EXTRA_CA_CERTS. (${code})`
  if (code === 'EPROTO') return `${store} does not speak TLS, or not as this service does: http or https?`
  if (isAway(fault)) return `${store} cannot be reached, or does not answer as it should. (${code || said})`
  return `It cannot ${doing} in the bucket "${bucket}" at ${store}. (${said})`
}
