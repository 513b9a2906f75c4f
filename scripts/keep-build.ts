/**
 * Keeps builds of this checkout in `node_modules/.cache`, under a hash of their sources. The first process that needs a build makes it,
 * while the others wait.
 */
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))
/** A process that began to use a build has finished with it by then. */
const OLD_MS = 6 * 3_600_000

/** Of the names and the content of files, by their paths from the root. */
export function hashFiles(files: readonly string[]): string {
  const hash = createHash('sha256')
  for (const file of files.toSorted()) hash.update(`${file}\0`).update(readFileSync(join(root, file)))
  return hash.digest('hex').slice(0, 16)
}

/**
 * The folder of what was built under this hash; `build` fills `draft`, which becomes `folder` when it is done. `name` is that of
 * all of its kind.
 */
export async function keepBuild(
  name: string,
  hash: string,
  build: (draft: string, folder: string) => Promise<void>,
): Promise<string> {
  mkdirSync(join(root, 'node_modules/.cache', name), { recursive: true })
  // The README's test lends its clone this place by a link.
  const place = realpathSync(join(root, 'node_modules/.cache', name))
  const folder = join(place, hash)
  if (existsSync(folder)) {
    const now = new Date()
    utimesSync(folder, now, now)
    return folder
  }
  await alone(folder, async () => {
    if (existsSync(folder)) return
    removeOld(place)
    const draft = join(place, randomUUID())
    try {
      await build(draft, folder)
      renameSync(draft, folder)
    } finally {
      rmSync(draft, { recursive: true, force: true })
    }
  })
  return folder
}

/** Does the work while no other process does it. A socket without a file is given up with its process, however that ends. */
async function alone(what: string, work: () => Promise<void>): Promise<void> {
  const path = `\0runyard-${createHash('sha256').update(what).digest('hex')}`
  const waiting = new Set<Socket>()
  const server = createServer((socket) => {
    socket.on('error', () => {})
    waiting.add(socket)
  })
  while (!(await listens())) await new Promise<void>((resolve) => waitFor(resolve))
  try {
    await work()
  } finally {
    server.close()
    for (const socket of waiting) socket.destroy()
  }

  async function listens(): Promise<boolean> {
    server.listen({ path })
    try {
      await once(server, 'listening')
      return true
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return false
      throw error
    }
  }
  function waitFor(resolve: () => void): void {
    connect({ path })
      .on('error', () => {})
      .on('close', () => resolve())
      .resume()
  }
}

function removeOld(place: string): void {
  for (const name of readdirSync(place)) {
    const found = statSync(join(place, name), { throwIfNoEntry: false })
    if (found && Date.now() - found.mtimeMs > OLD_MS)
      rmSync(join(place, name), { recursive: true, force: true })
  }
}
