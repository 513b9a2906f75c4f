import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
// What the process loads, this file depends on.
import './role.ts'

const PROGRAM = `
  import { getHeapSpaceStatistics } from 'node:v8'
  import { loadRole, runRole } from ${JSON.stringify(import.meta.resolve('./role.ts'))}
  const sizeAfterWork = () => {
    const kept = []
    for (let n = 0; n < 2_000_000; n++) kept[n % 60_000] = { n, text: 'x' + n }
    return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size / 1024 ** 2
  }
  // What a role does keeps its process.
  setInterval(() => {}, 60_000)
  await loadRole()
  const sizes = []
  await runRole(
    async () => {
      sizes.push(sizeAfterWork())
      return { stop: async () => {} }
    },
    () => {
      sizes.push(sizeAfterWork())
      console.log(JSON.stringify(sizes))
      process.kill(process.pid, 'SIGTERM')
    },
  )`

test('a start keeps the space for new objects small, and the role has all of it', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', PROGRAM])
  const [starting = Number.NaN, running = Number.NaN] = JSON.parse(stdout) as number[]
  assert(starting <= 4, `${starting} MiB at the start`)
  assert(running >= 4 * starting, `${running} MiB then`)
})
