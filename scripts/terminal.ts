import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

const END = '-- the block has ended --'

/** A shell that is typed into block by block: folder and variables stay, and the first command that fails ends it. */
export class Terminal {
  readonly #shell: ChildProcess
  readonly #closed: Promise<void>
  #ended = false
  #printed = ''
  /** Resolves when more was printed, or the shell has ended. */
  #news = Promise.withResolvers<void>()

  constructor(folder: string, env: NodeJS.ProcessEnv) {
    // A process group of its own, as shells of terminals have: Ctrl-C goes to everything in it.
    this.#shell = spawn('bash', ['-euo', 'pipefail'], { cwd: folder, env, stdio: 'pipe', detached: true })
    for (const stream of [this.#shell.stdout, this.#shell.stderr])
      stream?.on('data', (chunk) => {
        this.#printed += chunk
        this.#announce()
      })
    this.#closed = once(this.#shell, 'close').then(() => {
      this.#ended = true
      this.#announce()
    })
  }

  /** Types a block and does not wait for its end. */
  type(block: string): void {
    this.#printed = ''
    // Parsed as a whole, and without standard input: no program swallows what is typed next.
    this.#shell.stdin?.write(`{\n${block}\n} </dev/null\necho '${END}'\n`)
  }

  /** What a block printed, on both streams. Rejects with that when one of its commands fails. */
  async run(block: string): Promise<string> {
    this.type(block)
    await this.printed(END)
    return this.#printed.replace(END, '')
  }

  /** Resolves once the last block has printed the text. */
  async printed(text: string): Promise<void> {
    while (!this.#printed.includes(text)) {
      if (this.#ended)
        throw new Error(`The terminal was closed before it showed "${text}":\n${this.#printed}`)
      await this.#news.promise
    }
  }

  /** Ctrl-C, then the end of the shell. */
  async close(): Promise<void> {
    const { pid, stdin } = this.#shell
    stdin?.end()
    if (pid && !this.#ended) process.kill(-pid, 'SIGINT')
    await this.#closed
  }

  #announce(): void {
    this.#news.resolve()
    this.#news = Promise.withResolvers()
  }
}
