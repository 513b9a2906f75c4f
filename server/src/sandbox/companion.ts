import { closeSync } from 'node:fs'
import { Socket } from 'node:net'
import { takePipes } from './pipes.ts'
import { type Descriptor, type Launch, startProgram } from './starter.ts'

const MESSAGE_BYTES = 1_000

/** A program that goes on beside a sandbox, and what it complains about. */
export interface Companion {
  /** The beginning of what it wrote to its standard error. */
  readonly said: string
  readonly has_ended: boolean
  /** Resolves when it has. */
  ended: Promise<void>
  /** Whether it keeps the service from its end. It does at first. */
  keepAwake(awake: boolean): void
  kill(): void
}

/** Starts it with `descriptors` besides its standard error. Throws `SandboxFault`. */
export async function startCompanion(
  words: Launch,
  descriptors: readonly Descriptor[] = [],
): Promise<Companion> {
  const { err } = await takePipes(['err'])
  const stderr = new Socket({ fd: err.read, readable: true, writable: false })
  let said = ''
  let has_ended = false
  stderr.on('data', (data: Buffer) => {
    if (said.length < MESSAGE_BYTES) said += data
  })
  stderr.on('error', () => {})
  try {
    const program = await startProgram(words, [{ at: 2, ours: err.write, mode: 'write' }, ...descriptors])
    const end = () => {
      has_ended = true
    }
    return {
      ended: program.ended.then(end, end),
      get said() {
        return said.trim()
      },
      get has_ended() {
        return has_ended
      },
      keepAwake(awake) {
        program.keepAwake(awake)
        awake ? stderr.ref() : stderr.unref()
      },
      kill: () => program.kill(),
    }
  } catch (error) {
    stderr.destroy()
    throw error
  } finally {
    closeSync(err.write)
  }
}
