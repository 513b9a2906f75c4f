import { runProgram } from './run-program.ts'
import { SandboxFault } from './sandbox.ts'

/**
 * Removes trees that an agent filled. By `rm`, which walks by descriptors: it follows no symlink and copes with paths
 * deeper than `PATH_MAX`, where `fs.rm` does neither safely. Directories the agent made unwritable (Go's module cache
 * is) are opened first when needed. Throws `SandboxFault`.
 */
export async function removeTrees(paths: string[]): Promise<void> {
  if (paths.length === 0) return
  const remove = () => runProgram(['rm', '-rf', '--one-file-system', '--', ...paths])
  if ((await remove()).code === 0) return
  // It complains about what the first try removed; whether it was enough shows in the second.
  await runProgram(['chmod', '-R', 'u+rwX', '--', ...paths])
  const { code, signal, stderr } = await remove()
  if (code !== 0) throw new SandboxFault(`rm ended with ${code ?? signal}: ${stderr.slice(0, 1_000).trim()}`)
}
