/** The image, built as docs/install.md says, and stand-ins for images of others, all from a Debian made here: no registry is asked. */
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packImage } from '../pack-image.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const BASE = 'runyard-debian:1'
/** An apt of a slow machine included. */
const BUILD_MS = 900_000

export const IMAGE = 'runyard:test'
export const POSTGRES_IMAGE = 'runyard-test-postgres:1'
export const SYSTEMD_IMAGE = 'runyard-test-systemd:1'
export const S3_IMAGE = 'runyard-test-s3:1'
const VERSITY = 'github.com/versity/versitygw/cmd/versitygw@v1.8.0'

/** Why images cannot be built; `false` where they can, and `BASE` is there. */
export function whyNoImages(): string | false {
  const script = join(root, 'scripts/test-base-image.sh')
  const { status, stderr } = spawnSync(script, [BASE], {
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  return status === 0 ? false : `this machine cannot run it: ${stderr.trim()}`
}

export async function buildImage(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'runyard-image-'))
  try {
    build(IMAGE, ['-'], { input: readFileSync(await packImage(folder)) })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export const buildPostgresImage = (): void => build(POSTGRES_IMAGE, [join(root, 'test/deploy/postgres')])

/** On top of the image, which has to be there. */
export const buildSystemdImage = (): void =>
  build(SYSTEMD_IMAGE, [join(root, 'test/deploy/systemd')], { base: IMAGE })

/** Go takes a few minutes for it, the first time. */
export function buildS3Image(): void {
  const folder = mkdtempSync(join(tmpdir(), 'runyard-s3-'))
  try {
    const env = { ...process.env, GOBIN: folder, GOFLAGS: '', CGO_ENABLED: '0' }
    execFileSync('go', ['install', '-ldflags=-s -w', VERSITY], {
      cwd: '/',
      env,
      stdio: 'pipe',
      timeout: BUILD_MS,
    })
    copyFileSync(join(root, 'test/deploy/s3/Dockerfile'), join(folder, 'Dockerfile'))
    build(S3_IMAGE, [folder])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** With the machine's network: Debian's packages and npm's come from where this machine gets them. */
function build(tag: string, context: readonly string[], { base = BASE, input }: BuildOptions = {}): void {
  docker(
    ['build', '--quiet', '--network', 'host', '--build-arg', `BASE=${base}`, '--tag', tag, ...context],
    input,
  )
}

interface BuildOptions {
  base?: string
  input?: Buffer
}

export const docker = (args: readonly string[], input?: Buffer): string =>
  execFileSync('docker', args, {
    encoding: 'utf8',
    stdio: [input ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    timeout: BUILD_MS,
    maxBuffer: 64 * 1024 * 1024,
    ...(input ? { input } : {}),
  })
