/** The receivers of docs/webhooks.md, word for word: they take what is signed, each once, and nothing else. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { setupPython } from '../../scripts/setup-python.ts'
import { signRequest } from '../src/webhooks/sign-request.ts'

const LIMIT = { timeout: 120_000 }
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const BODY = JSON.stringify({
  type: 'run.failed',
  timestamp: '2026-01-31T12:00:00.000Z',
  data: { run_id: 'r1', state: 'FAILED' },
})
const page = readFileSync(new URL('../../docs/webhooks.md', import.meta.url), 'utf8')

const blockOf = (language: string): string => {
  const [, code] = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?\\n)\`\`\``).exec(page) ?? []
  assert(code, language)
  return code
}

async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Puts the block in a file inside the project, where the library is found by its name, and sends it deliveries. */
async function tryReceiver(t: TestContext, program: string, language: string, file: string): Promise<void> {
  const directory = mkdtempSync(fileURLToPath(new URL('.webhooks-page-', import.meta.url)))
  t.after(() => rmSync(directory, { recursive: true }))
  writeFileSync(join(directory, file), blockOf(language))
  const port = await findPort()
  const child = spawn(program, [join(directory, file)], {
    env: { ...process.env, PORT: String(port), RUNYARD_API_KEY: 'ry_test', RUNYARD_WEBHOOK_SECRET: SECRET },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const printed = text(child.stdout)
  const ended = once(child, 'exit')

  const send = async (id: string, body: string): Promise<number> => {
    const headers = signRequest([SECRET], { id, sent_at: new Date(), body: BODY })
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body })
    return answer.status
  }
  const give_up = Date.now() + 60_000
  while (!(await send('early', 'not signed').catch(() => 0))) {
    assert(child.exitCode === null && Date.now() < give_up, 'the receiver does not listen')
    await setTimeout(50)
  }
  const statuses = []
  for (const [id, body] of [
    ['m1', BODY],
    ['m1', BODY],
    ['m2', BODY.replace('FAILED', 'SUCCEEDED')],
    ['m3', BODY],
  ] as const)
    statuses.push(await send(id, body))
  child.kill('SIGTERM')
  await ended
  assert.deepEqual(statuses, [204, 204, 400, 204])
  assert.equal(await printed, 'run.failed r1\n'.repeat(2))
}

test('the receiver in TypeScript', LIMIT, (t) => tryReceiver(t, process.execPath, 'ts', 'receiver.ts'))

test('the receiver in Python', LIMIT, async (t) => {
  const setup = setupPython()
  if ('missing' in setup) return t.skip(setup.missing)
  await tryReceiver(t, setup.python, 'python', 'receiver.py')
})
