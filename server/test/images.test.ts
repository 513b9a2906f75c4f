/** Which images environments may name, and what their callers are told about one that cannot be used. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { removeSandbox } from './support/docker-images.ts'
import { TEST_IMAGE } from './support/sandbox-backends.ts'
import { apiOf, shell, startService, temporaryDirectory } from './support/service.ts'

const script = fileURLToPath(new URL('../../scripts/test-docker.sh', import.meta.url))
const { status } = spawnSync(script, { stdio: 'ignore' })

type Api = ReturnType<typeof apiOf>
const SECONDS = 120
const runs: string[] = []

const createEnvironment = (api: Api, docker_image: string) =>
  api.json<{ uid: string }>('POST', '/agent/environments', { name: `test ${randomUUID()}`, docker_image })

/** A run in the environment: its state, and why it ended so. */
async function runIn(api: Api, environment_id: string) {
  const run_id = await api.create({ prompt: shell('echo hello'), config: { environment_id } })
  runs.push(run_id)
  const { state, status_message } = await api.ended(run_id, SECONDS)
  return [state, status_message?.error_code, status_message?.message]
}

describe('images of environments', { skip: status !== 0 }, () => {
  after(() => runs.forEach(removeSandbox))

  test('dev runs what the engine has and pulls nothing else; an operator’s list is kept to', async () => {
    let calls = 0
    const registry = createServer((_, response) => {
      calls++
      response.writeHead(404, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ errors: [{ code: 'UNKNOWN', message: CANARY }] }))
    })
    await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve))
    const registered = `127.0.0.1:${(registry.address() as AddressInfo).port}`
    const foreign = `${registered}/acme/tool:1`
    const data_dir = temporaryDirectory('data')
    const start = (env: Record<string, string>) =>
      startService({ data_dir, sandbox: 'docker', env: { RUNYARD_DEFAULT_IMAGE: TEST_IMAGE, ...env } })

    const service = await start({})
    const api = apiOf(service)
    const present = await createEnvironment(api, TEST_IMAGE)
    const absent = await createEnvironment(api, foreign)
    assert.equal((await runIn(api, present.uid))[0], 'SUCCEEDED')
    assert.deepEqual(await runIn(api, absent.uid), [
      'FAILED',
      'environment_setup_failed',
      `The image ${foreign} is not on this machine’s Docker engine, and it may not be pulled.`,
    ])
    assert.equal(calls, 0)
    const malformed = await api.call('POST', '/agent/environments', { name: 'test', docker_image: 'a//b' })
    assert.equal(malformed.status, 400)
    await service.stop()

    // Environments from before the operator's list are judged by it, too.
    const strict = await start({ RUNYARD_IMAGES: 'ghcr.io/acme/*', RUNYARD_DEFAULT_IMAGE: 'runyard-test:1' })
    const strictApi = apiOf(strict)
    const [state, code, message] = await runIn(strictApi, absent.uid)
    assert.deepEqual([state, code], ['FAILED', 'feature_not_available'])
    assert.match(message ?? '', /RUNYARD_IMAGES/)
    const refused = await strictApi.call('POST', '/agent/environments', {
      name: 'test',
      docker_image: foreign,
    })
    assert.equal(refused.status, 403)
    assert.equal(((await refused.json()) as { error_code: string }).error_code, 'feature_not_available')
    await createEnvironment(strictApi, 'ghcr.io/acme/tool')
    assert.equal((await runIn(strictApi, present.uid))[0], 'SUCCEEDED', 'the default image')
    assert.equal(calls, 0)
    await strict.stop()

    const wide = await start({ RUNYARD_IMAGES: `${registered}/acme/*` })
    const wideApi = apiOf(wide)
    const failed = await runIn(wideApi, absent.uid)
    assert.deepEqual(failed, [
      'FAILED',
      'environment_setup_failed',
      `The image ${foreign} is not there and cannot be pulled.`,
    ])
    assert.ok(calls > 0)
    assert.match(wide.log(), new RegExp(CANARY), 'the log has what the registry said')
    await wide.stop()
    registry.close()
  })
})

const CANARY = 'canary-of-the-registry'
