/** What setup commands leave is there again for later runs, as long as they would leave the same. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { appendFileSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { removeSandbox } from './support/docker-images.ts'
import { git, makeRepository } from './support/git.ts'
import { whyNoDocker } from './support/machine.ts'
import { LONG, onceAmong, onlyLong } from './support/once.ts'
import { type BackendName, TEST_IMAGE } from './support/sandbox-backends.ts'
import { apiOf, shell, startService, type TestService, temporaryDirectory } from './support/service.ts'
import { ofType, printed } from './support/traces.ts'

const undocked = whyNoDocker()

testOn('bubblewrap', false)
if (LONG) testOn('docker', undocked)

const LOOK = 'cat number ~/.word; ls'
/** Each setup leaves another number. */
const SETUP = ['sleep 2', 'date +%s%N > number; echo "$WORD" > ~/.word; mkdir -p deps/empty; rm other']

function testOn(sandbox: BackendName, skip: string | false): void {
  const once = onceAmong(sandbox)
  describe(`what a setup left, ${sandbox}`, { skip }, () => {
    const place = temporaryDirectory('repositories')
    const repository = join(place, 'app')
    const runs: string[] = []
    let service: TestService
    let api: ReturnType<typeof apiOf>

    before(async () => {
      makeRepository(repository)
      commit('other', 'other')
      service = await startService({
        sandbox,
        env: {
          RUNYARD_LOCAL_REPOS: place,
          RUNYARD_MAX_IDLE_SANDBOXES: '0',
          ...(sandbox === 'docker' ? { RUNYARD_DEFAULT_IMAGE: TEST_IMAGE } : {}),
        },
      })
      api = apiOf(service)
    })
    after(async () => {
      await service?.stop()
      if (sandbox === 'docker') runs.forEach(removeSandbox)
    })

    function commit(name: string, text: string): void {
      writeFileSync(join(repository, name), `${text}\n`)
      git(repository, 'add', name)
      git(repository, 'commit', '--quiet', '--message', text)
    }
    const makeEnvironment = async (more: object = {}) => {
      const config = {
        name: `prepared ${randomUUID()}`,
        repositories: [{ local_path: 'app' }],
        setup_commands: SETUP,
        variables: { WORD: 'one' },
        ...more,
      }
      const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', config)
      return { uid, config }
    }
    /** What it printed, and how many setup commands ran for it. */
    const run = async (environment_id: string, command = LOOK) => {
      const run_id = await api.create({ prompt: shell(command), config: { environment_id } })
      runs.push(run_id)
      const { state, status_message } = await api.ended(run_id)
      assert.equal(state, 'SUCCEEDED', status_message?.message)
      const events = await api.events(run_id)
      const setup = ofType(events, 'setup').filter(({ data }) => data.status === 'finished')
      const count = (phase: string) => setup.filter(({ data }) => data.phase === phase).length
      return { text: printed(events), commands: count('command'), restored: count('restore') }
    }
    const files = () => {
      const folder = join(service.data_dir, 'blobs', 'prepared')
      return readdirSync(folder).map((name) => join(folder, name))
    }

    test('is what the next run begins with, and nothing of what a run did', async () => {
      const { uid } = await makeEnvironment()
      const first = await run(uid, 'cat number ~/.word; ls; echo spoiled | tee number ~/.word > mine')
      assert.match(first.text, /^\d+\none\ndeps\nfile\nnumber\n$/)
      assert.deepEqual([first.commands, first.restored], [2, 0])
      const second = await run(uid, 'cat number ~/.word; ls; git status --porcelain; stat -c %U deps number')
      assert.deepEqual([second.commands, second.restored], [0, 1])
      const own = second.text.split('\n').slice(-3, -1)
      assert.equal(new Set(own).size, 1, 'both are the user’s')
      assert(second.text.startsWith(`${first.text} D other\n?? number\n`), second.text)
    })

    once('is not taken once a commit, a variable or the configuration is another', async () => {
      const { uid, config } = await makeEnvironment()
      const { text } = await run(uid)
      commit('file', 'newer')
      const newer = await run(uid)
      assert.deepEqual([newer.commands, newer.restored], [2, 0])
      assert.notEqual(newer.text, text)
      assert.equal((await run(uid)).text, newer.text)
      const put = (changes: object) =>
        api.json('PUT', `/agent/environments/${uid}`, { ...config, ...changes })
      await put({ variables: { WORD: 'two' } })
      const other = await run(uid)
      assert.deepEqual([other.commands, /\ntwo\n/.test(other.text)], [2, true])
      await put({ variables: { WORD: 'two' }, reuse_setup: false })
      assert.equal((await run(uid)).commands, 2)
      assert.equal((await run(uid)).commands, 2)
    })

    once('is nobody else’s: another environment with the same words sets up itself', async () => {
      const [one, other] = [await makeEnvironment(), await makeEnvironment()]
      await run(one.uid)
      assert.equal((await run(other.uid)).commands, 2)
    })

    onlyLong('that is damaged or gone costs no run', async () => {
      const { uid } = await makeEnvironment()
      const known = new Set(files())
      const { text } = await run(uid)
      const [file] = files().filter((name) => !known.has(name))
      assert(file)
      truncateSync(file, Math.floor(statSync(file).size / 2))
      const again = await run(uid, `${LOOK}; ls -d "$RUNYARD_ARTIFACTS_DIR"`)
      assert.deepEqual([again.commands, again.restored], [2, 0])
      assert.notEqual(again.text, text)
      assert.match(again.text, /\/workspace\/artifacts\n$/)
      const [fresh] = files().filter((name) => !known.has(name))
      assert(fresh)
      appendFileSync(fresh, 'more')
      assert.equal((await run(uid)).commands, 2)
      assert.equal((await run(uid)).commands, 0)
    })

    once('is not kept where it took no time, or something it started still runs', async () => {
      const quick = await makeEnvironment({ setup_commands: ['true'] })
      await run(quick.uid, 'true')
      assert.equal((await run(quick.uid, 'true')).commands, 1)
      if (sandbox === 'bubblewrap') return
      const daemon = await makeEnvironment({
        setup_commands: ['sleep 2; sleep 1000 > /dev/null 2>&1 &', 'sleep 2'],
      })
      await run(daemon.uid, 'true')
      assert.equal((await run(daemon.uid, 'true')).commands, 2)
    })
  })
}
