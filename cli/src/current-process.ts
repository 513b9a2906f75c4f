import { AsyncLocalStorage } from 'node:async_hooks'
import { resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'

interface Screen {
  isTTY?: boolean | undefined
  columns?: number | undefined
  rows?: number | undefined
}

/**
 * What a command reads, writes and hears. `process` is one. A program that runs commands inside itself, as our tests do, gives
 * each its own, so that several can run at the same time.
 */
export interface CommandProcess {
  readonly env: NodeJS.ProcessEnv
  readonly stdin: Readable & { isTTY?: boolean | undefined }
  readonly stdout: Writable & Screen
  readonly stderr: Writable & Screen
  exitCode?: string | number | null | undefined
  cwd(): string
  on(signal: Signal, listener: () => void): unknown
  off(signal: Signal, listener: () => void): unknown
  /** Ends at once. */
  exit(code: number): never
}

type Signal = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

const storage = new AsyncLocalStorage<CommandProcess>()

/** The process that the running command belongs to. */
export const currentProcess = (): CommandProcess => storage.getStore() ?? process

/** `currentProcess` is `given` in this work and all that it calls or waits for. */
export const runIn = <T>(given: CommandProcess, work: () => T): T => storage.run(given, work)

/** A path as it is given to a command: relative to where the command was called. */
export const resolvePath = (path: string): string => resolve(currentProcess().cwd(), path)
