import type { ExecHandle, ExecOptions, Sandbox } from '../sandbox/sandbox.ts'

/** Keeps what changes a sandbox from beginning while its workspace is packed. What runs already is none of its business. */
export class SandboxGate {
  #closed: Promise<void> | null = null

  /** The same sandbox, whose commands and writes wait at the gate. */
  guard(sandbox: Sandbox): Sandbox {
    return {
      ...sandbox,
      exec: (options) => (this.#closed ? this.#execLater(sandbox, options) : sandbox.exec(options)),
      writeFile: async (...args) => {
        await this.#closed
        return sandbox.writeFile(...args)
      },
      deleteFile: async (path) => {
        await this.#closed
        return sandbox.deleteFile(path)
      },
    }
  }

  /** Closes it; call what this returns to open it again. */
  close(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#closed = promise
    return () => {
      resolve()
      if (this.#closed === promise) this.#closed = null
    }
  }

  #execLater(sandbox: Sandbox, options: ExecOptions): ExecHandle {
    const begun = (async () => {
      await this.#closed
      return sandbox.exec(options)
    })()
    const exit = begun.then((handle) => handle.exit)
    exit.catch(() => {})
    return {
      output: (async function* () {
        yield* (await begun).output
      })(),
      exit,
      kill: async () => (await begun).kill(),
    }
  }
}
