import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * Removes trees that an agent filled. By `rm`, which walks by descriptors: it follows no symlink and copes with paths
 * deeper than `PATH_MAX`, where `fs.rm` does neither safely. Directories the agent made unwritable (Go's module cache
 * is) are opened first when needed.
 */
export async function removeTrees(paths: string[]): Promise<void> {
  if (paths.length === 0) return
  // Not the service's own environment, with its keys.
  const env = { PATH: process.env.PATH }
  const remove = () => run('rm', ['-rf', '--one-file-system', '--', ...paths], { env })
  try {
    await remove()
  } catch {
    // It complains about what the first try removed; whether it was enough shows in the second.
    await run('chmod', ['-R', 'u+rwX', '--', ...paths], { env }).catch(() => {})
    await remove()
  }
}
