/**
 * A pack is kept while the checkout stays as it is: the tests of both packages and of the README install them, and to build one
 * takes up to 5 s of CPU.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hashFiles, keepBuild } from './keep-build.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
/** Names the sources that the built page was made of. Git knows neither. */
const PAGE = 'web/dist/.sources'

/** The path of the pack in `destination`. `build` writes it, and nothing else, into the folder that it is given. */
export async function keepPack(
  name: string,
  destination: string,
  build: (folder: string) => Promise<void>,
): Promise<string> {
  mkdirSync(destination, { recursive: true })
  const state = hashCheckout()
  const folder =
    state === null
      ? mkdtempSync(join(tmpdir(), 'runyard-pack-'))
      : await keepBuild('runyard-packs', `${name}-${state}`, async (draft) => {
          mkdirSync(draft)
          await build(draft)
        })
  try {
    if (state === null) await build(folder)
    const [file = ''] = readdirSync(folder)
    copyFileSync(join(folder, file), join(destination, file))
    return join(destination, file)
  } finally {
    if (state === null) rmSync(folder, { recursive: true, force: true })
  }
}

/** The hash covers all files, since nearly all can come into a pack. `null` without a git repository, which lists them. */
function hashCheckout(): string | null {
  try {
    const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 64 * 1024 * 1024,
    })
    const files = [...listed.split('\0').filter(Boolean), PAGE]
    return hashFiles(files.filter((file) => existsSync(join(root, file))))
  } catch {
    return null
  }
}
