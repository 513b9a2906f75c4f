/** Where setup commands run, what ends them, and how what they print is told. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { EnvironmentConfig } from '../src/contract/environment.ts'
import type { RunEvent } from '../src/contract/event.ts'
import { makeRepository } from './support/git.ts'
import { apiOf, shell, startService, type TestService, temporaryDirectory } from './support/service.ts'
import { assertWhole, ofType, printed } from './support/traces.ts'

/** What the setup printed, as it was told. */
const told = (events: RunEvent[]): string =>
  ofType(events, 'setup.output')
    .map(({ data }) => data.text)
    .join('')

describe('a setup command', { concurrency: 2 }, () => {
  const root = temporaryDirectory('repositories')
  let service: TestService
  let api: ReturnType<typeof apiOf>
  before(async () => {
    for (const name of ['one', 'two']) makeRepository(join(root, name))
    service = await startService({ env: { RUNYARD_LOCAL_REPOS: root } })
    api = apiOf(service)
  })
  after(() => service?.stop())

  const begin = async (config: Partial<EnvironmentConfig>, command = 'true'): Promise<string> => {
    const name = `test ${randomUUID()}`
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', { name, ...config })
    return api.create({ prompt: shell(command), config: { environment_id: uid } })
  }
  async function runIn(config: Partial<EnvironmentConfig>, command?: string) {
    const run_id = await begin(config, command)
    const run = await api.ended(run_id)
    const events = await api.events(run_id)
    assertWhole(events)
    const failed = ofType(events, 'setup').find(({ data }) => data.status === 'failed')?.data
    return { run, events, output: printed(events), failed, said: run.status_message?.message ?? '' }
  }

  for (const [what, repositories, where] of [
    ['the folder of the only repository', [{ local_path: 'one' }], '/workspace/one'],
    ['the folder that it is given', [{ local_path: 'one', directory: 'app' }], '/workspace/app'],
    ['/workspace above several', [{ local_path: 'one' }, { local_path: 'two' }], '/workspace'],
    ['/workspace without any', [], '/workspace'],
  ] as const)
    test(`runs where the agent starts: in ${what}`, async () => {
      const config = { repositories: [...repositories], setup_commands: ['pwd > ~/where', 'pwd >> ~/where'] }
      const { output, said } = await runIn(config, 'cat ~/where; pwd')
      assert.equal(output, `${where}\n`.repeat(3), said)
    })

  test('fails with any command of a pipe', async () => {
    const { run, said } = await runIn({ setup_commands: ['false | cat'] })
    assert.equal(run.state, 'FAILED')
    assert.equal(said, 'The setup command "false | cat" ended with exit code 1.')
    assert.equal((await runIn({ setup_commands: ['set +o pipefail; false | cat'] })).run.state, 'SUCCEEDED')
  })

  test('keeps its lines, as shells number them', async () => {
    const { said } = await runIn({ setup_commands: ['true\nno-such-program'] })
    assert.match(said, / line 2: no-such-program: command not found\.$/)
  })

  test('is heard while it runs, on both streams and without the values of secrets', async () => {
    const wait = 'until [ -e /workspace/go ]; do sleep 0.05; done'
    const run_id = await begin({
      variables: { TOKEN: 'a-value-of-some-length' },
      setup_commands: [`echo first; echo "with $TOKEN" >&2; ${wait}; echo last`],
    })
    const early = await api.found(run_id, (events) => told(events).includes('***') && events)
    assert.equal(
      ofType(early, 'setup').some(({ data }) => data.phase === 'command' && data.status !== 'started'),
      false,
    )
    assert.deepEqual(told(early).split('\n').sort(), ['', 'first', 'with ***'])
    writeFileSync(join(service.data_dir, 'sandboxes/bubblewrap', `${run_id}-1`, 'workspace/go'), '')
    await api.ended(run_id)
    const events = await api.events(run_id)
    assert.match(told(events), /last\n$/)
    assert.deepEqual([...new Set(ofType(events, 'setup.output').map(({ data }) => data.stream))].sort(), [
      'stderr',
      'stdout',
    ])
  })

  test('is told whole, and of a very long output its beginning and its end', async () => {
    const whole = await runIn({ setup_commands: ['seq 60000'] })
    assert.equal(
      told(whole.events),
      `${Array.from({ length: 60_000 }, (_, place) => place + 1).join('\n')}\n`,
    )
    const long = await runIn({ setup_commands: ['seq 400000'] })
    const text = told(long.events)
    assert.match(text, /^1\n2\n/)
    assert.match(text, /\n399999\n400000\n$/)
    assert(text.length < 2 * 1024 ** 2)
    assert.equal(ofType(long.events, 'setup.output').filter(({ data }) => data.after_gap).length, 1)
  })

  test('that fails says the first error, whatever it printed after that', async () => {
    const command = 'exec 2>&1; echo "npm error code E404" >&2; seq 3000; exit 1'
    const { said, failed, run } = await runIn({ setup_commands: [command] })
    const lines = '2996\n2997\n2998\n2999\n3000'
    assert.equal(
      said,
      `The setup command "${command}" ended with exit code 1: npm error code E404.\n${lines}`,
    )
    assert.equal(failed?.first_error, 'npm error code E404')
    assert.equal(run.status_message?.error_code, 'environment_setup_failed')
  })

  test('that fails says the error in the middle of an output too long to be told', async () => {
    const noise = (bytes: number) => `head -c ${bytes} /dev/zero | tr '\\0' x | fold -w 80`
    const command = `${noise(600_000)}; echo; echo "error: the real cause is here"; ${noise(1_800_000)}; exit 1`
    const { said, failed, events } = await runIn({ setup_commands: [command] })
    assert.equal(failed?.first_error, 'error: the real cause is here')
    assert.match(said, /ended with exit code 1: error: the real cause is here\./)
    assert(told(events).length < 1.2 * 1024 ** 2)
    assert.equal(ofType(events, 'setup.output').filter(({ data }) => data.after_gap).length, 1)
  })

  test('that fails says an error which is all it printed once', async () => {
    const { said } = await runIn({ setup_commands: ['echo "fatal: no way" >&2; exit 7'] })
    assert.equal(
      said,
      'The setup command "echo "fatal: no way" >&2; exit 7" ended with exit code 7: fatal: no way.',
    )
  })
})
