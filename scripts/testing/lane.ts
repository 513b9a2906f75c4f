/**
 * Runs several test files in one process, one after the other, each in a suite of its own: most of what a file costs alone is
 * Node's start and the loading of the same modules. `RUNYARD_TEST_FILES` names them, from the root, one per line.
 */
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { after, before, describe } from 'node:test'
import { startMeter } from './meter.ts'

const require = createRequire(import.meta.url)

for (const file of (process.env.RUNYARD_TEST_FILES ?? '').split('\n').filter(Boolean))
  describe(file, () => {
    let stop: () => void
    before(() => {
      stop = startMeter(file)
    })
    // Not `import`: what a file registers while it is loaded belongs to this suite only as long as nothing is awaited.
    require(resolve(file))
    after(() => stop())
  })
