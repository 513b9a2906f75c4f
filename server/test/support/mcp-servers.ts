import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { temporaryDirectory } from './service.ts'

/** Published tool servers; `npm test` installs them, or `npm ci --prefix test/tools`. */
const modules = fileURLToPath(new URL('../../../test/tools/node_modules/', import.meta.url))
const programOf = (name: string) =>
  join(modules, '@modelcontextprotocol', `server-${name}`, 'dist', 'index.js')

export const missingServers = (): string | false =>
  existsSync(programOf('everything'))
    ? false
    : 'without the published tool servers: npm ci --prefix test/tools'

/** A published server with all it needs in one file, for places without its packages; the file's path. */
export function bundleServer(name: 'filesystem' | 'everything'): string {
  const file = join(temporaryDirectory('mcp'), `${name}.mjs`)
  const banner = `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);`
  execFileSync(join(modules, '.bin', 'esbuild'), [
    ...['--bundle', '--platform=node', '--format=esm', '--target=node22', '--log-level=error'],
    ...[`--banner:js=${banner}`, `--outfile=${file}`, programOf(name)],
  ])
  return file
}

export interface HttpServer {
  url: string
  host: string
  close(): Promise<void>
}

/** The published server "everything" over streamable HTTP. */
export async function serveEverything(): Promise<HttpServer> {
  const port = await findPort()
  const child = spawn(process.execPath, [programOf('everything'), 'streamableHttp'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH ?? '', PORT: String(port) },
  })
  await isListening(child)
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    host: `127.0.0.1:${port}`,
    async close() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}

async function isListening(child: ChildProcess): Promise<void> {
  if (!child.stderr) throw new Error('It has no standard error.')
  for await (const line of createInterface({ input: child.stderr })) if (/listening/i.test(line)) break
  child.stderr.resume()
  child.stdout?.resume()
}

async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  server.close()
  await once(server, 'close')
  return port
}
