import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { after, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openModelServer } from '../../test/support/model-server.ts'
import type { Egress } from './gateway.ts'
import { openGateway } from './open-gateway.ts'

const PROGRAM = fileURLToPath(new URL('../gateway-process.ts', import.meta.url))

describe('the gateway', () => {
  const said: string[] = []
  const gateway = openGateway(PROGRAM, {
    error: (fields, message) => said.push(`${message} ${JSON.stringify(fields)}`),
  })
  after(() => gateway.close())

  const ask = ({ socket }: Egress): Promise<string> =>
    new Promise((resolve) => {
      const client = connect(socket)
      let answer = ''
      client.on('connect', () =>
        client.write('GET http://nowhere.example/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'),
      )
      client.on('data', (data) => {
        answer += data
      })
      client.on('error', (error) => resolve(error.message))
      client.on('close', () => resolve(answer))
    })
  const rules = { hosts: [], private_hosts: [] }
  const modelsOf = (base_url: string, tokens_left: number | null) => ({
    ...{
      token: 'token',
      providers: { openai: { api: 'openai' as const, api_key: null, base_url } },
      tokens_left,
    },
  })
  /** Asks a model by it; the status of the answer. */
  const generate = async ({ socket }: Egress): Promise<number | undefined> => {
    const asking = request({
      ...{ socketPath: socket, path: '/model/openai/v1/chat/completions', method: 'POST' },
      headers: { authorization: 'Bearer token' },
    })
    const answered = once(asking, 'response')
    const closed = once(asking, 'close')
    asking.end('{"model":"scripted","messages":[]}')
    const [answer] = await answered
    answer.resume()
    await closed
    return answer.statusCode
  }
  const pidOf = (directory: string): number =>
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .find((pid) => {
        try {
          return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(directory)
        } catch {
          return false
        }
      }) ?? 0

  test('opens ways out, says what each refuses once, and closes them', async () => {
    const refused: string[] = []
    const [one, two] = [
      await gateway.open(rules, ({ host }) => refused.push(`one ${host}`)),
      await gateway.open(rules, ({ host }) => refused.push(`two ${host}`)),
    ]
    for (const way of [one, one, two]) assert.match(await ask(way), /^HTTP\/1\.1 403 /)
    assert.deepEqual(refused.sort(), ['one nowhere.example', 'two nowhere.example'])
    one.close()
    assert.equal(one.closed.aborted, true)
    two.close()
    for (let answer = ''; !answer.includes('ECONNREFUSED') && !answer.includes('ENOENT'); )
      answer = await ask(one)
  })

  test('tells what models have used before it is settled', async () => {
    await using model = await openModelServer(() => ({ text: 'Hello.' }))
    const used: number[] = []
    const way = await gateway.open({ ...rules, models: modelsOf(model.url, null) }, () => {}, {
      onUsed: (one) => used.push(one.input_tokens),
    })
    await way.settle()
    for (const count of [1, 2, 3]) {
      assert.equal(await generate(way), 200)
      await way.settle()
      assert.deepEqual(used, Array(count).fill(10))
    }
    way.close()
    await way.settle()
  })

  test('lets models use what a raised budget leaves, and keeps to that when it is started again', async () => {
    await using model = await openModelServer(() => ({ text: 'Hello.' }))
    const way = await gateway.open({ ...rules, models: modelsOf(model.url, 0) }, () => {})
    assert.equal(await generate(way), 403)
    way.limit(1)
    // Told to another process, which may hear of it after the next request; what it refuses is not counted.
    while ((await generate(way)) !== 200);
    assert.equal(await generate(way), 403)
    way.limit(null)
    process.kill(pidOf(dirname(way.socket)), 'SIGKILL')
    for (let answer = ''; !answer.startsWith('HTTP/1.1 403 '); ) answer = await ask(way)
    for (let again = 0; again < 2; again += 1) assert.equal(await generate(way), 200)
    way.close()
    way.limit(1)
  })

  test('has a place of its own, which may go and comes back', async () => {
    const one = await gateway.open(rules, () => {})
    const directory = dirname(one.socket)
    assert.equal(statSync(directory).mode & 0o777, 0o700)
    rmSync(directory, { recursive: true })
    const two = await gateway.open(rules, () => {})
    assert.match(await ask(two), /^HTTP\/1\.1 403 /)
    one.close()
    two.close()
  })

  test('is there again after it was killed, with what was open', async () => {
    const way = await gateway.open(rules, () => {})
    const pid = pidOf(dirname(way.socket))
    process.kill(pid, 'SIGKILL')
    for (let answer = ''; !answer.startsWith('HTTP/1.1 403 '); ) answer = await ask(way)
    assert.notEqual(pidOf(dirname(way.socket)), pid)
    assert.match(said.join(), /The gateway ended; starting it again\..*SIGKILL/)
    way.close()
  })

  test('answers what it is asked while it is not there', async () => {
    const way = await gateway.open(rules, () => {})
    const told = said.length
    process.kill(pidOf(dirname(way.socket)), 'SIGKILL')
    while (said.length === told) await new Promise(setImmediate)
    const answer = await way.publish({ host: 'x.example', path: 'a/b', branch: 'c', commit: 'd' })
    assert.deepEqual(answer, { failure: 'The gateway is gone.', retryable: true })
    for (let again = ''; !again.startsWith('HTTP/1.1 403 '); ) again = await ask(way)
    way.close()
  })

  test('takes every character of what it is asked', async () => {
    const way = await gateway.open(rules, () => {})
    const told = said.length
    const text = 'one\u2028two\u2029three\u0085four\r\nfive'
    const answer = await way.publish({
      ...{ host: 'x.example', path: 'a/b', branch: 'c', commit: 'd' },
      pull_request: { base: null, title: text, body: text },
    })
    assert.deepEqual(answer, {
      ...{ failure: 'No secret of the environment gives access to x.example/a/b.', retryable: false },
    })
    assert.deepEqual(said.slice(told), [])
    way.close()
  })

  test('that stands still does not keep the worker, and leaves nothing', { timeout: 60_000 }, async () => {
    const stuck = openGateway(PROGRAM, { error() {} })
    const { socket } = await stuck.open(rules, () => {})
    const pid = pidOf(dirname(socket))
    execFileSync('kill', ['-STOP', String(pid)])
    await stuck.close()
    assert.equal(existsSync(dirname(socket)), false)
    // Killed; it is gone as soon as the kernel gets there.
    while (pidOf(dirname(socket)) !== 0) await new Promise(setImmediate)
  })
})
