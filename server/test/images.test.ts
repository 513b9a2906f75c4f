/** Which images environments may name, and what their callers are told about one that cannot be used. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, describe, test } from 'node:test'
import { removeImage, removeSandbox } from './support/docker-images.ts'
import { startImageRegistry } from './support/image-registry.ts'
import { whyNoDocker } from './support/machine.ts'
import { TEST_IMAGE } from './support/sandbox-backends.ts'
import { apiOf, shell, startService, temporaryDirectory } from './support/service.ts'

const undocked = whyNoDocker()

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

describe('images of environments', { skip: undocked }, () => {
  after(() => runs.forEach(removeSandbox))

  test('dev runs what the engine has and pulls nothing else; an operator’s list is kept to', async () => {
    const registry = await startEmptyRegistry()
    const foreign = `${registry.host}/acme/tool:1`
    const data_dir = temporaryDirectory('data')
    const start = (env: Record<string, string>) =>
      startService({ data_dir, sandbox: 'docker', env: { RUNYARD_DEFAULT_IMAGE: TEST_IMAGE, ...env } })

    const listing = await start({ RUNYARD_IMAGES: `${registry.host}/*` })
    const absent = await createEnvironment(apiOf(listing), foreign)
    await listing.stop()

    const service = await start({})
    const api = apiOf(service)
    const present = await createEnvironment(api, TEST_IMAGE)
    const unpulled = await api.call('POST', '/agent/environments', { name: 'test', docker_image: foreign })
    assert.equal(unpulled.status, 403)
    assert.match(await unpulled.text(), /is not on this machine’s Docker engine, and it may not be pulled/)
    assert.equal((await runIn(api, present.uid))[0], 'SUCCEEDED')
    const [run_id = ''] = runs
    assert.match(
      (await api.get(run_id)).resolved?.image ?? '',
      /^docker\.io\/library\/runyard-test:1@sha256:[0-9a-f]{64}$/,
    )
    assert.deepEqual(await runIn(api, absent.uid), [
      'FAILED',
      'environment_setup_failed',
      `The image ${foreign} is not on this machine’s Docker engine, and it may not be pulled.`,
    ])
    assert.equal(registry.calls(), 0)
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
    assert.equal(registry.calls(), 0)
    await strict.stop()

    registry.close()
  })

  test('what the operator lists is pulled; a secret opens the registry of its image, and goes nowhere else', async () => {
    const password = 'canary-Rg5tYq8w'
    const registry = await startImageRegistry(`robot:${password}`)
    const other = await startImageRegistry()
    const empty = await startEmptyRegistry()
    const service = await startService({
      sandbox: 'docker',
      env: {
        RUNYARD_DEFAULT_IMAGE: TEST_IMAGE,
        RUNYARD_IMAGES: `${registry.host}/*,${other.host}/*,${empty.host}/acme/*`,
        RUNYARD_LOG_LEVEL: 'trace',
      },
    })
    const api = apiOf(service)
    const put = (name: string, value: string, access: object) =>
      api.call('PUT', `/agent/secrets/${name}`, { value, registry: access })
    const make = async (host: string, secret: string) => {
      const config = { name: `test ${randomUUID()}`, docker_image: `${host}/acme/tool:1`, secrets: [secret] }
      return (await api.json<{ uid: string }>('POST', '/agent/environments', config)).uid
    }
    try {
      const absent = `${empty.host}/acme/tool:1`
      assert.deepEqual(await runIn(api, (await createEnvironment(api, absent)).uid), [
        'FAILED',
        'environment_setup_failed',
        `The image ${absent} is not there and cannot be pulled.`,
      ])
      assert.ok(empty.calls() > 0)
      assert.match(service.log(), new RegExp(CANARY), 'the log has what the registry said')

      const access = { host: registry.host.toUpperCase(), username: 'robot' }
      const put_answer = await put('IMAGES', 'canary-Zz1wrong', access)
      assert.equal(put_answer.status, 200)
      assert.deepEqual(((await put_answer.json()) as { registry: object }).registry, {
        ...access,
        host: registry.host,
      })
      const closed = await make(registry.host, 'IMAGES')
      assert.deepEqual(await runIn(api, closed), [
        'FAILED',
        'environment_setup_failed',
        `The image ${registry.host}/acme/tool:1 cannot be pulled: ${registry.host} refuses the secret IMAGES.`,
      ])
      // Of another kind, or for another host, it would be another secret.
      assert.equal((await put('IMAGES', password, { ...access, host: other.host })).status, 409)
      assert.equal((await put('IMAGES', password, access)).status, 200)
      // The image holds no shell, so no command runs in it; that it was pulled shows in what the run was made of.
      await runIn(api, closed)
      const used = (await api.get(runs.at(-1) ?? '')).resolved?.image
      assert.equal(used, `${registry.host}/acme/tool:1@${registry.digest}`)
      await runIn(api, await make(other.host, 'IMAGES'))
      assert.deepEqual(other.authorizations, [])
      const events = JSON.stringify(await api.events(runs.at(-2) ?? ''))
      const sent = Buffer.from('robot:canary-').toString('base64').slice(0, 16)
      for (const text of [events, service.log()]) assert(!/canary-/.test(text) && !text.includes(sent))
      assert.match(service.log(), /who are you\? Basic \*\*\*/)
    } finally {
      await service.stop()
      empty.close()
      for (const { host, close } of [registry, other]) {
        close()
        removeImage(`${host}/acme/tool:1`)
      }
    }
  })
})

const CANARY = 'words of the registry'

/** A registry that has nothing, and how often it was asked. */
async function startEmptyRegistry() {
  let calls = 0
  const server = createServer((_, response) => {
    calls++
    response.writeHead(404, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ errors: [{ code: 'UNKNOWN', message: CANARY }] }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: () => calls,
    close: () => server.close(),
  }
}
