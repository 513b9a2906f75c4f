import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { toolPath } from './tools.ts'

/** Runs the module `worker.js` of the folder, which may speak to this machine. */
export async function startWorker(folder: string): Promise<{ url: string; stop(): Promise<void> }> {
  const config = join(folder, 'worker.capnp')
  writeFileSync(
    config,
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker", esModule = embed "worker.js")],
      compatibilityDate = "2026-11-01",
    )),
    (name = "internet", network = (allow = ["private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
`,
  )
  const child = spawn(toolPath('workerd'), ['serve', '--control-fd=3', config], {
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  })
  const closed = once(child, 'close')
  const [line] = await Promise.race([
    once(createInterface({ input: child.stdio[3] as Readable }), 'line'),
    closed.then(() => {
      throw new Error('workerd did not start.')
    }),
  ])
  const { port } = JSON.parse(String(line)) as { port: number }
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      child.kill('SIGTERM')
      await closed
    },
  }
}
