/** The Helm chart, as `helm package` would write it: one folder that is called as the chart is. */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { keepPack } from './keep-pack.ts'
import { readVersion } from './named-versions.ts'
import { packFolder } from './pack-folder.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const chart = join(root, 'deploy/helm/runyard')

/** The path of the archive. npm's has the name that Helm would give it. */
export const packChart = (destination: string): Promise<string> =>
  keepPack('chart', destination, async (kept) => {
    const names = globSync('**/*', { cwd: chart, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(chart.length + 1))
      .sort()
    const files = Object.fromEntries(
      names.map((name) => [`runyard/${name}`, readFileSync(join(chart, name))]),
    )
    writeFileSync(join(kept, `runyard-${readVersion(root)}.chart.tgz`), await packFolder(files))
  })
