import type { ExecExit, ExecHandle } from '../sandbox/sandbox.ts'

/** What a command of ours printed, whole, and how it ended. */
export async function readPrinted({
  output,
  exit,
}: ExecHandle): Promise<{ exit: ExecExit; stdout: Buffer; stderr: Buffer }> {
  exit.catch(() => {})
  const printed: { stdout: Uint8Array[]; stderr: Uint8Array[] } = { stdout: [], stderr: [] }
  for await (const { stream, data } of output) printed[stream].push(data)
  return {
    exit: await exit,
    stdout: Buffer.concat(printed.stdout),
    stderr: Buffer.concat(printed.stderr),
  }
}
