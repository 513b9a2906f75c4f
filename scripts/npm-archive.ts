import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/**
 * The path of the archive that `npm publish` would take, written to `destination`. `stage` puts the files of the package
 * into a folder of its own, so that several can be packed at once.
 */
export async function packArchive(
  destination: string,
  stage: (folder: string) => Promise<void>,
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'runyard-pack-'))
  try {
    await stage(folder)
    mkdirSync(destination, { recursive: true })
    const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', resolve(destination)]
    const packed = JSON.parse(
      execFileSync('npm', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }),
    ) as unknown
    return join(destination, filenameOf(packed))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** One package is a list of one; from npm 12 on, an object by its name. */
function filenameOf(packed: unknown): string {
  const [first] = Object.values(packed ?? {}) as Array<{ filename?: string }>
  if (!first?.filename) throw new Error('npm pack did not say what it wrote.')
  return first.filename
}
