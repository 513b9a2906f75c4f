import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { until } from './cluster.ts'
import { temporaryDirectory } from './service.ts'

const BIN = fileURLToPath(new URL('../../../test/tools/.venv/bin', import.meta.url))

export const whyNoLitellm = (): string | false =>
  !existsSync(join(BIN, 'litellm')) &&
  'LiteLLM is not installed in test/tools (npm run test:long installs it)'

export interface LitellmProxy extends AsyncDisposable {
  /** With `/v1`. */
  url: string
  log(): string
}

/** LiteLLM's proxy as its users start it, with this configuration; JSON is YAML. */
export async function openLitellmProxy(config: object): Promise<LitellmProxy> {
  const directory = temporaryDirectory('litellm')
  const file = join(directory, 'config.yaml')
  writeFileSync(file, JSON.stringify(config))
  const port = await freePort()
  const args = ['--config', file, '--host', '127.0.0.1', '--port', String(port)]
  const child = spawn(join(BIN, 'litellm'), args, {
    cwd: directory,
    // Prices as they were when it was published: it would ask the internet for them.
    env: { PATH: `${BIN}:${process.env.PATH}`, HOME: directory, LITELLM_LOCAL_MODEL_COST_MAP: 'True' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      log += chunk
    })
  const url = `http://127.0.0.1:${port}`
  const isUp = () =>
    fetch(`${url}/health/liveliness`).then(
      ({ ok }) => ok,
      () => false,
    )
  const close = async () => {
    if (child.exitCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  await until('LiteLLM', isUp, 120).catch(async (error) => {
    await close()
    throw new Error(log, { cause: error })
  })
  return { url: `${url}/v1`, log: () => log, [Symbol.asyncDispose]: close }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}
