import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('./fault-server.ts', import.meta.url))

export interface FaultProcess {
  readonly url: string
  /** Puts a script there; its address. */
  script(answers: readonly object[]): Promise<string>
  stop(): Promise<void>
}

/** The fault server as a process of its own, with the script that its page runs. */
export async function startFaultServer(page_script?: string): Promise<FaultProcess> {
  const args = page_script ? ['--page-script', page_script] : []
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  const [line] = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    closed.then(() => {
      throw new Error('The fault server did not start.')
    }),
  ])
  const { url } = JSON.parse(String(line)) as { url: string }
  return {
    url,
    async script(answers) {
      const answer = await fetch(`${url}/scripts`, { method: 'POST', body: JSON.stringify({ answers }) })
      return ((await answer.json()) as { url: string }).url
    },
    async stop() {
      child.stdin.end()
      await closed
    },
  }
}
