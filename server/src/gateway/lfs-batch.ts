/** The question of Git LFS for what is to be transferred, and its answer (its `docs/api/batch.md`). */

import { whyNoRef } from '../contract/ref-name.ts'

export interface LfsObject {
  /** SHA-256. */
  oid: string
  /** Bytes. */
  size: number
}

export interface LfsBatch {
  operation: 'download' | 'upload'
  objects: LfsObject[]
  /** The branch it is for. */
  ref?: { name: string }
}

export type LfsActionName = 'download' | 'upload' | 'verify'

/** Where an object is transferred, as its host says. */
export interface LfsAction {
  href: string
  header: Record<string, string>
}

/** The client asks for a hundred at once. */
const MAX_OBJECTS = 1_000
/** Of one address with its headers: signed ones of clouds have some 2,000. */
const MAX_ACTION = 16 * 1024
const NAMES: readonly LfsActionName[] = ['download', 'upload', 'verify']

/** `null` for what is none. */
export function readBatch(body: string): LfsBatch | null {
  const said = parse(body)
  const { operation, objects, ref } = isObject(said) ? said : {}
  if ((operation !== 'download' && operation !== 'upload') || !Array.isArray(objects)) return null
  const read = objects.map(readObject)
  if (read.length > MAX_OBJECTS || read.some((each) => each === null)) return null
  const name = isObject(ref) && typeof ref.name === 'string' && whyNoRef(ref.name) === null ? ref.name : null
  return {
    operation,
    objects: read.flatMap((each) => each ?? []),
    ...(name === null ? {} : { ref: { name } }),
  }
}

/** The one way of transfers that is passed on is said, whatever else the client knows. */
export const writeBatch = (batch: LfsBatch): string =>
  JSON.stringify({ ...batch, transfers: ['basic'], hash_algo: 'sha256' })

/**
 * The answer as the sandbox gets it: of what was asked for, with addresses that `keep` gives in place of the host's, whose
 * headers stay here. `null` where the host says something else than an answer.
 */
export function rewriteBatch(
  answer: string,
  { operation, objects }: LfsBatch,
  keep: (name: LfsActionName, object: LfsObject, action: LfsAction) => string,
): object | null {
  const said = parse(answer)
  if (!isObject(said) || !Array.isArray(said.objects)) return null
  if (said.transfer !== undefined && said.transfer !== 'basic') return null
  const asked = new Map(objects.map((object) => [object.oid, object]))
  const wanted = operation === 'download' ? NAMES.slice(0, 1) : NAMES.slice(1)
  const answered = said.objects.flatMap((each) => {
    const object = isObject(each) && typeof each.oid === 'string' ? asked.get(each.oid) : undefined
    if (!isObject(each) || !object) return []
    // An answer that says an object twice would grow what is kept for it.
    asked.delete(object.oid)
    const { actions, error } = each
    const given = wanted.flatMap((name) => {
      const action = isObject(actions) ? readAction(actions[name]) : null
      return action ? [[name, { href: keep(name, object, action), ...action.expiry }] as const] : []
    })
    return [
      {
        // So that the client does not look for a credential of its own.
        ...{ ...object, authenticated: true },
        ...(given.length > 0 ? { actions: Object.fromEntries(given) } : {}),
        ...(isObject(error) ? { error: readError(error) } : {}),
      },
    ]
  })
  return { transfer: 'basic', objects: answered, hash_algo: 'sha256' }
}

function readObject(value: unknown): LfsObject | null {
  const { oid, size } = isObject(value) ? value : {}
  if (typeof oid !== 'string' || !/^[0-9a-f]{64}$/.test(oid)) return null
  return typeof size === 'number' && Number.isSafeInteger(size) && size >= 0 ? { oid, size } : null
}

function readAction(value: unknown): (LfsAction & { expiry: object }) | null {
  const { href, header, expires_in, expires_at } = isObject(value) ? value : {}
  if (typeof href !== 'string') return null
  const headers = isObject(header) ? Object.entries(header) : []
  if (href.length + JSON.stringify(header ?? {}).length > MAX_ACTION) return null
  return {
    href,
    header: Object.fromEntries(
      headers.flatMap(([name, text]) => (typeof text === 'string' ? [[name.toLowerCase(), text]] : [])),
    ),
    expiry: {
      ...(typeof expires_in === 'number' ? { expires_in } : {}),
      ...(typeof expires_at === 'string' ? { expires_at } : {}),
    },
  }
}

const readError = ({ code, message }: Record<string, unknown>): object => ({
  code: typeof code === 'number' ? code : 500,
  message: typeof message === 'string' ? message.slice(0, 1_000) : 'The host does not say why.',
})

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
