/** The pages of `docs/tasks`: their commands, in order, against one service with a scripted model and a stand-in for GitHub. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type Ended, Home } from '../../cli/test/runyard.ts'
import type { HookAnswer } from '../src/contract/trigger.ts'
import { until } from './support/cluster.ts'
import { createDatabase } from './support/databases.ts'
import { GIT_ENV, git } from './support/git.ts'
import { type GitHost, serveGitHost } from './support/git-hosts.ts'
import { addHostedRepository } from './support/hosted-repositories.ts'
import { type ChatRequest, type ModelServer, openModelServer, type Reply } from './support/model-server.ts'
import { findPostgres } from './support/postgres-server.ts'
import { apiOf, type TestService, temporaryDirectory } from './support/service.ts'
import { SIGN } from './support/sign-hook.ts'
import { blocksOf } from './support/task-pages.ts'

const LIMIT = { timeout: 300_000 }
const TOKEN = 'canary-of-the-tasks'
const SUM = `export function sum(numbers) {
  let total = 0
  for (let i = 1; i < numbers.length; i++) total += numbers[i]
  return total
}
`
const TEST = `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sum } from './sum.js'
test('nothing sums to zero', () => assert.equal(sum([]), 0))
`
const REDUCE = 'export const sum = (numbers) => numbers.reduce((total, number) => total + number, 0)'

/** What the agent executes, by what it is asked. */
const WORK: Array<[RegExp, string[]]> = [
  [/Use reduce/, [`echo '${REDUCE}' > sum.js`]],
  [
    /Fix (this )?issue/,
    [
      `sed -i 's/let i = 1/let i = 0/' sum.js
echo "test('every number counts', () => assert.equal(sum([1, 2]), 3))" >> sum.test.js
node --test`,
    ],
  ],
  [/Run the tests\. If one fails/, ['node --check sum.js']],
  [/^Start the server/, ['echo It listens.; sleep 600']],
  [/^Push it/, ['git push --dry-run origin HEAD']],
]

function answer({ messages }: ChatRequest): Reply {
  const asked = messages.findLastIndex(({ role }) => role === 'user')
  const { content } = messages[asked] ?? {}
  const prompt = typeof content === 'string' ? content : (content ?? []).map((part) => part.text).join('')
  const done = messages.slice(asked).filter(({ role }) => role === 'tool').length
  const command = WORK.find(([pattern]) => pattern.test(prompt))?.[1][done]
  if (command !== undefined) return { calls: [{ name: 'bash', arguments: { command } }] }
  if (prompt.includes('@agent ')) return { text: 'The loop in sum.js begins at 1.' }
  return { text: /Fixes #17/.exec(prompt)?.[0] ?? 'Done.' }
}

describe('the tasks', { timeout: 580_000 }, () => {
  const home = new Home()
  const folder = join(home.directory, 'site')
  const hosted = temporaryDirectory('hosted')
  /** What stands for what in the commands. */
  const places: Record<string, string> = {
    '30 2 \\* \\* \\*': '* * * * * *',
    'npm ci': 'node --check sum.js',
  }
  let host: GitHost
  let model: ModelServer
  let service: TestService
  let api: ReturnType<typeof apiOf>

  before(async () => {
    const bare = addHostedRepository(hosted, 'acme/site')
    execFileSync('git', ['clone', '--quiet', bare, folder], { env: GIT_ENV, stdio: 'ignore' })
    const manifest = { name: 'site', version: '1.0.0', type: 'module', scripts: { test: 'node --test' } }
    const lock = { name: 'site', version: '1.0.0', lockfileVersion: 3, packages: { '': manifest } }
    for (const [file, text] of Object.entries({
      ...{ 'sum.js': SUM, 'sum.test.js': TEST },
      ...{ 'package.json': JSON.stringify(manifest), 'package-lock.json': JSON.stringify(lock) },
    }))
      writeFileSync(join(folder, file), text)
    git(folder, 'add', '.')
    git(folder, 'commit', '--quiet', '-m', 'Add numbers')
    git(folder, 'push', '--quiet', 'origin', 'main')
    // It prints as `gh` does into a pipe.
    const issue =
      'title:\\tsum() skips the first number\\nstate:\\tOPEN\\nnumber:\\t17\\n--\\nsum([1, 2]) is 2.\\n'
    const gh = `#!/bin/sh\n[ "$*" = 'issue view 17' ] && printf '${issue}'\n`
    writeFileSync(join(home.directory, 'gh'), gh, { mode: 0o755 })
    host = await serveGitHost({ root: hosted, kind: 'github', token: TOKEN })
    places['github.com'] = host.host
    model = await openModelServer(answer)
    service = await home.serve({
      env: {
        ...{ OPENAI_API_KEY: 'a-key', OPENAI_BASE_URL: model.url },
        NODE_EXTRA_CA_CERTS: host.ca_file,
        RUNYARD_PRIVATE_HOSTS: host.host,
        RUNYARD_GIT_HOSTS: `${host.host}=github`,
        RUNYARD_LOCAL_REPOS: home.directory,
        RUNYARD_MIN_SCHEDULE_SECONDS: '1',
      },
    })
    api = apiOf(service)
  }, LIMIT)
  after(async () => {
    await home.remove()
    await model?.close()
    host?.close()
  }, LIMIT)

  const environment = { GITHUB_TOKEN: TOKEN, DEPLOY_TOKEN: 'a-token-to-deploy' }
  const sh = (script: string): string =>
    execFileSync('sh', ['-euc', script], {
      cwd: folder,
      encoding: 'utf8',
      env: { ...environment, HOME: home.directory, PATH: `${home.directory}:${process.env.PATH}` },
    })

  /** A command, its words as a shell reads them, perhaps with a pipe into it. */
  function run(line: string, env: NodeJS.ProcessEnv = {}): Promise<Ended> {
    const [, before, words = ''] = /^(?:(.*) \| +)?runyard (.*)$/s.exec(line) ?? []
    const args = sh(`printf '%s\\0' ${words}`).split('\0').slice(0, -1)
    return home.run(args, { directory: folder, environment: env, ...(before ? { input: sh(before) } : {}) })
  }

  /** A whole block: what all its commands printed. Each has to end with 0. */
  async function type(script: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
    const text = Object.entries(places).reduce(
      (all, [of, by]) => all.replaceAll(new RegExp(of, 'g'), by),
      script,
    )
    if (!/(^|\| |^ +)runyard /m.test(text)) return sh(text)
    let printed = ''
    for (const line of text.replaceAll('\\\n', '').replaceAll('|\n', '| ').trim().split('\n')) {
      const { code, stdout, stderr } = await run(line, env)
      assert.equal(code, 0, `${line}\n${stdout}${stderr}`)
      printed += `${stdout}${stderr}`
    }
    return printed
  }

  /** Tries the blocks of a page as they are taken, each once. */
  function follow(page: string) {
    const blocks = blocksOf(page)
    const script = (name: string): string => {
      const block = blocks.shift()
      assert.equal(block?.name, name)
      return block.script
    }
    return {
      script,
      next: (name: string, env?: NodeJS.ProcessEnv): Promise<string> => type(script(name), env),
      done: () => assert.deepEqual(blocks, [], `${page}.md has more`),
    }
  }
  const started = async (line: string): Promise<string> =>
    (await run(`runyard run --detach ${line}`)).stdout.trim()

  test('fix an issue', LIMIT, async () => {
    const page = follow('fix-an-issue')
    await page.next('setup')
    const fixed = await page.next('fix')
    assert.match(
      fixed,
      /Fix this issue[\s\S]*title:\tsum\(\) skips[\s\S]*↑ pull request #1 of [\s\S]*✓ Succeeded/,
    )
    const reviewed = await page.next('review')
    assert.match(reviewed, /\+ {2}for \(let i = 0;[\s\S]*open[\s\S]*reduce[\s\S]*[Mm]erged/)
    assert.deepEqual(
      host.pulls.map(({ title, body }) => [title, /^Fixes #17$/m.test(body)]),
      [['Count the first number too', true]],
    )
    assert.equal(git(join(hosted, 'acme/site.git'), 'show', 'main:sum.js'), REDUCE)
    const here = await page.next('checkout')
    assert.match(here, /✓ Succeeded/)
    assert.match(git(folder, 'diff', '--staged'), /\+ {2}for \(let i = 0;/)
    git(folder, 'reset', '--quiet', '--hard')
    page.done()
  })

  test('a nightly job', LIMIT, async () => {
    const page = follow('nightly-job')
    await page.next('prompt')
    assert.match(await page.next('try'), /✓ Succeeded/)
    assert.match(await page.next('schedule'), /next +\w{3}, \d/)
    await page.next('webhook')
    await until('the run of a night', async () => {
      const { stdout } = await run(`runyard schedule history 'Nightly tests'`)
      return /created/i.test(stdout)
    })
    await run(`runyard schedule pause 'Nightly tests'`)
    assert.match(await page.next('morning'), /created/i)
    assert.match(await page.next('change'), /It is paused[\s\S]*Next: \w{3}, \d/)
    await run(`runyard schedule delete 'Nightly tests'`)
    page.done()
  })

  test('answer issues of GitHub', LIMIT, async () => {
    const page = follow('answer-github-issues')
    await page.next('prompt')
    const [url = '', secret = ''] = /^http\S+\n\S+$/m.exec(await page.next('trigger'))?.[0].split('\n') ?? []
    const comment = async (author_association: string): Promise<HookAnswer> => {
      const body = JSON.stringify({
        action: 'created',
        issue: { number: 17, title: 'sum() skips the first number', body: 'sum([1, 2]) is 2.' },
        comment: { body: '@agent Why?', author_association, user: { login: 'ada' } },
        repository: { full_name: 'acme/site', html_url: `${host.url}/acme/site` },
      })
      const signed = SIGN.github({ secret, body, id: randomUUID() })
      const headers = { ...signed, 'x-github-event': 'issue_comment' }
      return (await (await fetch(url, { method: 'POST', body, headers })).json()) as HookAnswer
    }
    assert.equal((await comment('NONE')).outcome, 'filtered')
    const { outcome, run_id } = await comment('OWNER')
    assert.equal(outcome, 'run_started')
    await until('the answer', () => host.comments.some(({ body }) => /begins at 1/.test(body)))
    assert.match(
      (await api.get(run_id ?? '')).prompt,
      /^ada asks in issue 17[\s\S]*@agent Why\?[\s\S]*is 2\.\n/,
    )
    assert.match(await page.next('deliveries'), /run_started[\s\S]*filtered|filtered[\s\S]*run_started/)
    page.done()
  })

  test('a run is stuck', LIMIT, async () => {
    const page = follow('stuck-run')
    await started(`'Wait.' --host gpu`)
    assert.match(await page.next('look'), /QUEUED[\s\S]*waits +No worker serves the pool "gpu"/)
    assert.match(await page.next('queued'), /default/)
    await run('runyard cancel @last')
    const busy = await started(`'Start the server.' --env checkout`)
    await api.found(busy, (events) => events.some(({ type }) => type === 'tool.output'))
    assert.match(await page.next('logs'), /It listens\./)
    assert.match(await page.next('interrupt'), /Done\./)
    const asks = await started(`'Push it.' --env checkout --permission 'ask:bash:git push*'`)
    await api.until(asks, ({ state }) => state === 'BLOCKED')
    assert.match(await page.next('approve'), /Done\./)
    assert.match(await page.next('again'), /Do the same in TypeScript/)
    const more = await started(`'Start the server.' --env checkout`)
    await api.found(more, (events) => events.some(({ type }) => type === 'tool.output'))
    assert.match(await page.next('stop'), /Cancelled/)
    page.done()
  })

  test('bring it to a team', LIMIT, async () => {
    const page = follow('team')
    if (findPostgres() || process.env.RUNYARD_TEST_POSTGRES) {
      const { url, drop } = await createDatabase()
      const printed = await page.next('database', {
        ...{ DATABASE_URL: url, RUNYARD_SECRET_KEY: 'a secret key of at least 32 characters' },
        RUNYARD_DATA_DIR: temporaryDirectory('team'),
      })
      assert.match(printed, /Applied 0001_init\n[\s\S]*ry_\w+/)
      await drop()
    } else page.script('database')
    const people = await page.next('people')
    assert.match(people, /\/sign-in#token=/)
    places.PRINCIPAL_ID = /^(\S+) +Ada Lovelace/m.exec(people)?.[1] ?? ''
    const identity = page.script('identity')
    const [create = '', key = ''] = identity.split(/^(?=runyard identity key)/m)
    places.IDENTITY_ID = /^[0-9a-f-]{36}$/m.exec(await type(create))?.[0] ?? ''
    assert.match(await type(key), /ry_\w+/)
    assert.match(await page.next('grants'), /Ada Lovelace/)
    assert.match(await page.next('watch'), /Agent\n +oz[\s\S]*createAgentIdentity/)
    assert.match(await page.next('leave'), /disabled/i)
    page.done()
  })
})
