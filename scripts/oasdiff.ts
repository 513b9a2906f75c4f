/**
 * oasdiff, which finds the breaking changes between two OpenAPI descriptions. It is a Go program: Go builds it once for each clone,
 * in a minute the first time, from its own cache in seconds after that.
 */
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, renameSync, rmdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const VERSION = 'v1.37.0'
const FOLDER = fileURLToPath(new URL('../node_modules/.cache/oasdiff/', import.meta.url))
const PROGRAM = `${FOLDER}oasdiff-${VERSION}`
/** Which changes of answers clients take: see docs/decisions/0044-changes-of-the-api.md. */
const LEVELS = fileURLToPath(new URL('oasdiff-levels.txt', import.meta.url))
/** Debian's Go is older than oasdiff asks for; Go gets the newer one by itself. */
const CANDIDATES = ['go', '/usr/local/go/bin/go']

export interface Breakage {
  /** `GET /agent/runs` */
  operation: string
  text: string
}

export type Oasdiff = { program: string } | { missing: string }

export function installOasdiff(): Oasdiff {
  if (existsSync(PROGRAM)) return { program: PROGRAM }
  const go = findGo() ?? installGo()
  if (go === null) return { missing: 'oasdiff is built with Go, which is missing. Install Go 1.21 or newer.' }
  console.error('Building oasdiff …')
  const args = ['install', `github.com/oasdiff/oasdiff@${VERSION}`]
  // Another process may be building it, too.
  const folder = `${FOLDER}${process.pid}/`
  const env = { ...process.env, GOBIN: folder, GOFLAGS: '' }
  // Its output goes to standard error: the check and the tests read what this process prints.
  const { status } = spawnSync(go, args, { cwd: '/', env, stdio: ['ignore', 2, 2] })
  if (status !== 0) return { missing: 'oasdiff could not be built; see above.' }
  renameSync(`${folder}oasdiff`, PROGRAM)
  rmdirSync(folder)
  return { program: PROGRAM }
}

const findGo = (): string | null =>
  CANDIDATES.find((name) => spawnSync(name, ['version'], { stdio: 'ignore' }).status === 0) ?? null

function installGo(): string | null {
  const script = fileURLToPath(new URL('setup-debian.sh', import.meta.url))
  return spawnSync(script, ['go'], { stdio: ['ignore', 2, 2] }).status === 0 ? findGo() : null
}

/** Each operation's changes that break a program written for the description in `before`. Both are files. */
export async function findBreakages(program: string, before: string, after: string): Promise<Breakage[]> {
  const args = ['breaking', before, after, '--format', 'json', '--severity-levels', LEVELS]
  const { stdout } = await promisify(execFile)(program, args, { maxBuffer: 256 * 1024 * 1024 })
  const found = JSON.parse(stdout || '[]') as Array<{ operation?: string; path?: string; text: string }>
  return found.map(({ operation = '', path = '', text }) => ({
    operation: `${operation} ${path}`.trim(),
    text,
  }))
}
