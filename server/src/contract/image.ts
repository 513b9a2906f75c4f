/** A container image by name, taken apart and written in full. */
interface ImageName {
  /** With its port, if any; `docker.io` where the name gives none. */
  host: string
  path: string
  /** Absent beside a digest, which alone counts then. */
  tag?: string
  digest?: string
}

/** What an installation lets its environments run; see `RUNYARD_IMAGES`. */
export interface ImagePolicy {
  /** `*` for any image, or names whose path and tag may hold `*`. May also be pulled. */
  patterns: readonly string[]
  /** Whatever the engine has already may run, too. */
  local: boolean
}

/** `pull`: may run and be pulled. `local`: may run where it is. `null`: may not run. */
export type ImageVerdict = 'pull' | 'local' | null

const HUB = 'docker.io'
const MAX_LENGTH = 512
const LABEL = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?'
const HOST = new RegExp(String.raw`^${LABEL}(?:\.${LABEL})*(?::\d{1,5})?$`)
const PATH = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*$/
const TAG = /^\w[\w.-]{0,127}$/
const DIGEST = /^sha256:[0-9a-f]{64}$/
const PATH_PATTERN = /^[a-z0-9._/*-]+$/
const TAG_PATTERN = /^[\w.*-]{1,128}$/

/**
 * The name in full, as engines read it: `node` is `docker.io/library/node:latest`. `null` for what is none; so for the
 * id of an image, which would name one by something else than where it comes from.
 */
export function normalizeImage(name: string): string | null {
  const image = parseImage(name, PATH, TAG)
  return image && writeImage(image)
}

/** The name in full with a digest, which says which version of the image it was; it keeps its tag. */
export function pinImage(name: string, digest: string): string {
  return `${(normalizeImage(name) ?? name).split('@')[0]}@${digest}`
}

/** The host of its registry, `docker.io` where the name gives none; `null` for what is no name. */
export const registryOf = (name: string): string | null => parseImage(name, PATH, TAG)?.host ?? null

/** Whether the text may stand in a policy. */
export function isImagePattern(text: string): boolean {
  return text === '*' || parseImage(text, PATH_PATTERN, TAG_PATTERN) !== null
}

/** A name that does not parse is not allowed by anything. */
export function judgeImage(name: string, policy: ImagePolicy): ImageVerdict {
  const image = parseImage(name, PATH, TAG)
  if (!image) return null
  if (policy.patterns.some((pattern) => matches(image, pattern))) return 'pull'
  return policy.local ? 'local' : null
}

/** Why an image is refused, for whoever named it. */
export const imageRefusal = (name: string): string =>
  `This installation does not allow the image ${name}; its operator allows images with RUNYARD_IMAGES.`

function matches(image: ImageName, text: string): boolean {
  if (text === '*') return true
  const pattern = parseImage(text, PATH_PATTERN, TAG_PATTERN)
  if (!pattern || pattern.host !== image.host || !globs(pattern.path, image.path)) return false
  // A digest names any version of an image, so it needs a pattern for every tag, or the digest itself.
  if (image.digest) return pattern.digest === image.digest || pattern.tag === '*'
  return pattern.tag !== undefined && globs(pattern.tag, image.tag ?? '')
}

/** `*` stands for any characters, a slash included. */
function globs(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  if (rest.length === 0) return pattern === text
  const last = rest.pop() ?? ''
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length)
    return false
  let at = first.length
  for (const part of rest) {
    const found = text.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return at <= text.length - last.length
}

function parseImage(name: string, path_rule: RegExp, tag_rule: RegExp): ImageName | null {
  if (name.length > MAX_LENGTH) return null
  const [rest = '', digest, ...more] = name.split('@')
  if (more.length > 0 || (digest !== undefined && !DIGEST.test(digest))) return null
  const slash = rest.indexOf('/')
  const first = rest.slice(0, Math.max(slash, 0))
  // As engines tell a registry from a folder of the public one.
  const hosted = slash >= 0 && (/[.:]/.test(first) || first === 'localhost')
  const host = hosted ? first : HUB
  const remainder = hosted ? rest.slice(slash + 1) : rest
  const colon = remainder.lastIndexOf(':')
  const plain = colon < 0 ? remainder : remainder.slice(0, colon)
  const tag = colon < 0 ? undefined : remainder.slice(colon + 1)
  if (!HOST.test(host) || !path_rule.test(plain) || (tag !== undefined && !tag_rule.test(tag))) return null
  const hub = host === HUB || host === `index.${HUB}`
  return {
    host: hub ? HUB : host,
    path: hub && !plain.includes('/') && plain !== '*' ? `library/${plain}` : plain,
    ...(digest ? { digest } : { tag: tag ?? (plain.endsWith('*') ? '*' : 'latest') }),
  }
}

const writeImage = ({ host, path, tag, digest }: ImageName): string =>
  `${host}/${path}${digest ? `@${digest}` : `:${tag}`}`
