import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from './config.ts'
import { listAgents } from './harness/acp-agents.ts'
import { type SandboxBackend, TOOLS_PLACE } from './sandbox/sandbox.ts'

/**
 * The agents whose program surely no sandbox of this worker has, as things are now; what an environment brings along is not
 * looked at. Of agents of the operator's own nothing is said: what they run may be anything that an image has, such as `node`.
 */
export function findLacking(
  { acp_agents }: Pick<Config, 'acp_agents'>,
  { backend, tools_dir }: { backend: Pick<SandboxBackend, 'name' | 'program_folders'>; tools_dir: string },
): string[] {
  const { name: sandbox, program_folders } = backend
  if (!program_folders) return []
  // On the host itself nothing is put anywhere.
  const tools = sandbox === 'host' ? TOOLS_PLACE : tools_dir
  const folders = [join(tools, 'bin'), join(tools, 'node_modules', '.bin'), ...program_folders]
  return listAgents(acp_agents).flatMap(({ name, install, command: [program = ''] }) => {
    const is_there = !install || folders.some((folder) => existsSync(join(folder, program)))
    return is_there ? [] : [name]
  })
}
