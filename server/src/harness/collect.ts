import { collectExec, type ExecExit, type ExecOptions } from '../sandbox/sandbox.ts'
import type { Turn } from './harness.ts'

/** A command whose output is the tool's to read, not the log's. Ends early when the turn's signal fires. */
export async function collect(
  { sandbox, signal }: Pick<Turn, 'sandbox' | 'signal'>,
  options: Omit<ExecOptions, 'signal'>,
): Promise<ExecExit & { stdout: string; stderr: string }> {
  const { exit, stdout, stderr } = await collectExec(sandbox.exec({ ...options, signal }))
  return { ...exit, stdout: stdout.toString(), stderr: stderr.toString() }
}
