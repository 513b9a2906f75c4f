import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keepPack } from './keep-pack.ts'

/**
 * The path of the archive that `npm publish` would take, written to `destination`. `stage` puts the files of the package
 * into a folder of its own, so that several can be packed at once.
 */
export const packArchive = (
  name: string,
  destination: string,
  stage: (folder: string) => Promise<void>,
): Promise<string> =>
  keepPack(name, destination, async (kept) => {
    const folder = mkdtempSync(join(tmpdir(), 'runyard-pack-'))
    try {
      await stage(folder)
      const args = ['pack', '--ignore-scripts', '--pack-destination', kept]
      execFileSync('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
