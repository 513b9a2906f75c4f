import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

/** Runs a program to its end; one that takes longer than `timeout` ms is killed. */
export async function runTool(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv; timeout?: number } = {},
): Promise<Ended> {
  const child = spawn(command, args, {
    // On a busy machine a compiler takes minutes.
    timeout: 540_000,
    killSignal: 'SIGKILL',
    ...options,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ])
  return { code, stdout, stderr }
}
