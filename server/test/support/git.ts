import { execFileSync, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { makeCertificate } from './certificate.ts'
import { addressOfHost } from './host-address.ts'

/** Somebody's, and nothing of the machine's configuration of git. */
export const GIT_ENV = {
  PATH: process.env.PATH,
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_AUTHOR_NAME: 'Test',
  GIT_AUTHOR_EMAIL: 'test@example.org',
  GIT_COMMITTER_NAME: 'Test',
  GIT_COMMITTER_EMAIL: 'test@example.org',
}

/** Git as the tests' own user, untouched by that user's settings, whoever owns the repository. */
export function git(directory: string, ...args: string[]): string {
  const output = execFileSync('git', ['-c', 'safe.directory=*', '-C', directory, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: GIT_ENV,
  })
  return output.trim()
}

/**
 * A repository at `path`: three commits on `main`, whose `file` says `first`, `second` and `third`; the tag `v1` on the
 * first; a branch `feature` that leaves the second, where it says `feature`. Returns the id of the second.
 */
export function makeRepository(path: string): { second: string } {
  execFileSync('git', ['init', '--quiet', '--initial-branch=main', path])
  const commit = (text: string) => {
    writeFileSync(join(path, 'file'), `${text}\n`)
    git(path, 'add', 'file')
    git(path, 'commit', '--quiet', '-m', text)
  }
  commit('first')
  git(path, 'tag', 'v1')
  commit('second')
  const second = git(path, 'rev-parse', 'HEAD')
  git(path, 'checkout', '--quiet', '-b', 'feature')
  commit('feature')
  git(path, 'checkout', '--quiet', 'main')
  commit('third')
  return { second }
}

/** Serves the repositories below `root` over https with a certificate nobody trusts. */
export async function serveRepositories(root: string): Promise<{ url: string; close(): void }> {
  const { key, cert } = makeCertificate(addressOfHost())
  const server = createServer({ key, cert }, (request, response) => runBackend(root, request, response))
  await new Promise<void>((resolve) => server.listen(0, addressOfHost(), resolve))
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('The git server has no port.')
  return {
    url: `https://${address.address}:${address.port}`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** One request through `git http-backend`, which is a CGI program. `push`: it takes commits as well. */
export function runBackend(
  root: string,
  request: IncomingMessage,
  response: ServerResponse,
  { push = false } = {},
): void {
  const { pathname, search } = new URL(request.url ?? '/', 'https://localhost')
  const child = spawn('git', ['http-backend'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_COUNT: '2',
      GIT_CONFIG_KEY_0: 'safe.directory',
      GIT_CONFIG_VALUE_0: '*',
      GIT_CONFIG_KEY_1: 'http.receivepack',
      GIT_CONFIG_VALUE_1: String(push),
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      PATH_INFO: decodeURIComponent(pathname),
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
    },
  })
  // Git goes before it has read what it refuses.
  child.stdin.on('error', () => {})
  request.pipe(child.stdin)
  const parts: Buffer[] = []
  child.stdout.on('data', (data: Buffer) => parts.push(data))
  child.once('close', () => {
    const answer = Buffer.concat(parts)
    const end = answer.indexOf('\r\n\r\n')
    for (const line of answer.subarray(0, end).toString().split('\r\n')) {
      const [name = '', value = ''] = line.split(/: (.*)/)
      if (name === 'Status') response.statusCode = Number.parseInt(value, 10)
      else response.setHeader(name, value)
    }
    response.end(answer.subarray(end + 4))
  })
}
