import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findSocket } from './docker-engine.ts'

export interface FallbackOptions {
  data_dir: string
  /** Docker's image for runs that name none; whoever names one wants Docker. */
  default_image?: string
  /** The operator accepts weaker isolation where Docker does not work: RUNYARD_ALLOW_SANDBOX_FALLBACK. */
  allow_fallback?: boolean
  /** Other people's runs: an engine that is there and does not work is a fault, not a machine without Docker. */
  is_shared?: boolean
}

export const ALLOW_FALLBACK =
  'Repair it, or accept bubblewrap with RUNYARD_SANDBOX=bubblewrap, or with RUNYARD_ALLOW_SANDBOX_FALLBACK=1 whenever Docker does not work.'

/**
 * Why bubblewrap must not take the place of a Docker that does not work; `null`: it may. Runs would be isolated in another way
 * than their operator has reason to believe, and one line of a log is not where anybody would look for that.
 */
export async function whyNoFallback(options: FallbackOptions): Promise<string | null> {
  const { data_dir, default_image, allow_fallback = false, is_shared = false } = options
  if (allow_fallback) return null
  if (readLastBackend(data_dir) === 'docker') return 'runs had Docker until now'
  if (default_image !== undefined) return 'RUNYARD_DEFAULT_IMAGE asks for Docker'
  if (!is_shared) return null
  const is_there = process.env.DOCKER_HOST ? true : await findSocket().then(isThere, isMissing)
  return is_there ? 'this machine has Docker' : null
}

const isThere = () => true
const isMissing = () => false
const fileOf = (data_dir: string): string => join(data_dir, 'sandboxes', 'backend')

/** What the last start on a data directory took; `null`: there was none, or it cannot be read. */
function readLastBackend(data_dir: string): string | null {
  try {
    return readFileSync(fileOf(data_dir), 'utf8').trim()
  } catch {
    return null
  }
}

/** For the next start. */
export function keepLastBackend(data_dir: string, name: string): void {
  const file = fileOf(data_dir)
  if (existsSync(file) && readLastBackend(data_dir) === name) return
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${name}\n`)
}
