import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { packClient } from '../../../scripts/pack-client.ts'
import { toolPackage } from './tools.ts'

export interface Consumer {
  readonly folder: string
  /** What `npm publish` would send. */
  readonly archive: string
  remove(): void
}

/** A project that has installed the library as it would be published, and the named packages of the test tools. */
export async function createConsumer(packages: readonly string[] = []): Promise<Consumer> {
  const folder = mkdtempSync(join(tmpdir(), 'runyard-consumer-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    const archive = await packClient(folder)
    const installed = join(folder, 'node_modules/@runyard/client')
    mkdirSync(installed, { recursive: true })
    execFileSync('tar', ['-xzf', archive, '--strip-components=1', '-C', installed])
    for (const name of packages) {
      const link = join(folder, 'node_modules', name)
      mkdirSync(dirname(link), { recursive: true })
      symlinkSync(toolPackage(name), link)
    }
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    return { folder, archive, remove }
  } catch (error) {
    remove()
    throw error
  }
}
