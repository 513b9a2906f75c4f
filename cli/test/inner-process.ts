import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { CommandProcess } from '../src/current-process.ts'
import { main } from '../src/main.ts'
import type { Ended } from './runyard.ts'

/** What an output of a command is: a pipe, or a terminal of 60 columns. */
type Sink = PassThrough & { isTTY: boolean; columns: number | undefined }
const openSink = (is_terminal: boolean): Sink =>
  Object.assign(new PassThrough(), { isTTY: is_terminal, columns: is_terminal ? 60 : undefined })

/** A command that runs in the process of the test, and what stands for a process of its own. */
export class InnerProcess extends EventEmitter implements CommandProcess {
  readonly env: NodeJS.ProcessEnv
  readonly stdin: Sink
  readonly stdout: Sink
  /** On a terminal both are one. */
  readonly stderr: Sink
  exitCode: CommandProcess['exitCode']
  readonly ended: Promise<Ended>
  readonly #directory: string

  constructor(
    args: readonly string[],
    { env, directory, terminal = false }: { env: NodeJS.ProcessEnv; directory: string; terminal?: boolean },
  ) {
    super()
    this.env = env
    this.#directory = directory
    this.stdin = openSink(terminal)
    this.stdout = openSink(terminal)
    this.stderr = terminal ? this.stdout : openSink(false)
    this.ended = this.#run(args)
  }

  cwd(): string {
    return this.#directory
  }

  exit(): never {
    throw new Error('What ends a process needs one of its own.')
  }

  async #run(args: readonly string[]): Promise<Ended> {
    const printed = [this.stdout, ...(this.stderr === this.stdout ? [] : [this.stderr])].map(text)
    await main(['node', 'runyard', ...args], this)
    for (const sink of [this.stdout, this.stderr]) sink.end()
    const [stdout = '', stderr = ''] = await Promise.all(printed)
    this.emit('close')
    return { code: Number(this.exitCode ?? 0), stdout, stderr }
  }
}
