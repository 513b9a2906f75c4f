import type { ExecExit, ExecHandle } from '../sandbox/sandbox.ts'

/** What a command of ours printed to its standard output, whole, and how it ended. */
export async function readPrinted({ output, exit }: ExecHandle): Promise<{ exit: ExecExit; stdout: Buffer }> {
  exit.catch(() => {})
  const printed: Uint8Array[] = []
  for await (const { stream, data } of output) if (stream === 'stdout') printed.push(data)
  return { exit: await exit, stdout: Buffer.concat(printed) }
}
