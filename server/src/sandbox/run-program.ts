import { closeSync } from 'node:fs'
import { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { takePipes } from './pipes.ts'
import { SandboxFault } from './sandbox.ts'
import { type Launch, type ProgramEnd, startProgram } from './starter.ts'

/** Runs a program of the host and returns how it ended and what it said. Throws `SandboxFault`, also where the signal killed it. */
export async function runProgram(
  words: Launch,
  signal?: AbortSignal,
): Promise<ProgramEnd & { stdout: string; stderr: string }> {
  throwIfCut(words, signal)
  const { out, err } = await takePipes(['out', 'err'])
  const said = Promise.all(
    [out, err].map(({ read }) => text(new Socket({ fd: read, readable: true, writable: false }))),
  )
  const program = await startProgram(words, [
    { at: 1, ours: out.write, mode: 'write' },
    { at: 2, ours: err.write, mode: 'write' },
  ]).finally(() => {
    for (const { write } of [out, err]) closeSync(write)
  })
  const kill = () => program.kill()
  signal?.addEventListener('abort', kill)
  if (signal?.aborted) kill()
  try {
    const end = await program.ended
    const [stdout = '', stderr = ''] = await said
    throwIfCut(words, signal)
    return { ...end, stdout, stderr }
  } finally {
    signal?.removeEventListener('abort', kill)
  }
}

function throwIfCut([file]: Launch, signal?: AbortSignal): void {
  if (signal?.aborted) throw new SandboxFault(`${file} was cut short`, { cause: signal.reason })
}
