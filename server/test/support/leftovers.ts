import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const leftovers: Array<() => void> = []
process.once('exit', () => {
  // Processes were started after the directories they use.
  for (const remove of leftovers.reverse()) remove()
})

/** Calls `remove` when the process ends, the last one first. */
export function removeAtExit(remove: () => void): void {
  leftovers.push(remove)
}

/** A directory that is removed when the process ends. */
export function temporaryDirectory(name: string): string {
  const directory = mkdtempSync(join(tmpdir(), `runyard-${name}-`))
  removeAtExit(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}
