import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { RunItem } from '@runyard/client'
import { makeRepository } from '../../server/test/support/git.ts'
import type { TestService } from '../../server/test/support/service.ts'
import { nameRepository } from '../src/repository-option.ts'
import { Home, printedBy } from './runyard.ts'

const LIMIT = { timeout: 600_000 }
const home = new Home()
const shop = join(home.directory, 'shop')
const block = (...commands: string[]): string => `\`\`\`sh\n${commands.join('\n')}\n\`\`\``
const git = (...args: string[]): string =>
  execFileSync('git', ['-C', shop, ...args], { encoding: 'utf8' }).trim()
const last = async (): Promise<RunItem> =>
  JSON.parse((await home.run(['get', '@last', '-o', 'json'])).stdout) as RunItem

let service: TestService
before(async () => {
  service = await home.serve({ env: { RUNYARD_LOCAL_REPOS: home.directory, RUNYARD_IMAGES: 'debian:*' } })
  makeRepository(shop)
}, LIMIT)
after(() => home.remove(), LIMIT)

test('a run brings the repository that it names, without an environment', LIMIT, async () => {
  git('branch', 'other')
  const { code, stdout, stderr } = await home.run([
    ...['run', block('pwd; git rev-parse HEAD'), '--repo', './shop#other'],
  ])
  assert.equal(code, 0, stderr)
  assert.match(stdout, new RegExp(`│ /workspace/shop\n *│ ${git('rev-parse', 'HEAD')}`))
  const run = await last()
  assert.deepEqual(run.agent_config.repositories, [{ local_path: shop, ref: 'other' }])
  assert.match((await home.run(['get', '@last'])).stdout, /\nrepository +\/\S+\/shop#other\n/)
  // The same again, and elsewhere.
  const again = await home.run(['run', '--replay', run.run_id, '--repo', './shop'])
  assert.match(again.stdout, /│ \/workspace\/shop\n/)
  assert.deepEqual((await last()).agent_config.repositories, [{ local_path: shop }])
  const fork = await home.run(['fork', run.run_id, block('git log --oneline | wc -l')])
  assert.equal(fork.code, 0, fork.stderr)
  assert.deepEqual((await last()).agent_config.repositories, run.agent_config.repositories)
})

test('what a run cannot have of repositories is refused, and says why', LIMIT, async () => {
  await home.run(['env', 'create', 'plain', '--image', 'debian:13'])
  const { run_id } = await last()
  const refusals: Array<[string[], RegExp]> = [
    [['run', 'x', '--env', 'plain', '--repo', './shop'], /--repo: the environment names the repositories/],
    [['run', 'x', '--repo', './shop', '--repo', './shop#other'], /would be in the folder shop/],
    [['run', 'x', '--repo', '/etc'], /lies outside of RUNYARD_LOCAL_REPOS/],
    [['run', 'x', '--repo', 'ftp://example.com/x'], /must be the https address/],
    [['fork', run_id, 'x', '--repo', './elsewhere'], /--repo: a fork goes on in the workspace/],
  ]
  for (const [args, says] of refusals) {
    const { code, stderr } = await home.run(args)
    assert.deepEqual([code, says.test(stderr)], [1, true], `${args}: ${stderr}`)
  }
})

test('a script in a checkout is told how to bring its repository', LIMIT, async () => {
  const { code, stderr, stdout } = await home.run(['run', block('ls')], { directory: shop })
  assert.deepEqual([code, stderr], [0, `The run has no repository. This folder's: --repo ${shop}\n`], stdout)
  assert.equal((await last()).agent_config.repositories, undefined)
  const silent = await home.run(['run', block('ls'), '--no-repo'], { directory: shop })
  assert.equal(silent.stderr, '')
})

test('a person in a checkout is asked what to do and where, once', LIMIT, async () => {
  const [tracked = ''] = git('ls-files').split('\n')
  appendFileSync(join(shop, tracked), 'Not committed.\n')
  const first = home.spawnOnTerminal(['run'], {}, shop)
  await printedBy(first, /What should the agent do\?/)
  // The one line of it, and an end that sends it.
  first.stdin?.write('```sh\rgit status --short\r```\r\r')
  await printedBy(first, /Where should the run work/)
  first.stdin?.write('\r')
  const { code, stdout } = await first.ended
  assert.equal(code, 0, stdout)
  assert.match(stdout, /Changes that are not committed are not in the run\./)
  assert.match(stdout, /clone \S+shop/)
  assert.equal(git('config', '--get', 'runyard.runIn'), 'repository')
  // From now on nobody is asked, a script neither.
  const again = await home.run(['run', block('pwd')], { directory: shop })
  assert.match(again.stdout, /│ \/workspace\/shop\n/)
  assert.match(again.stderr, /^In \S+\/shop at \w+, the repository of this folder\. --no-repo: in none\.\n/)
  git('config', 'runyard.runIn', 'environment plain')
  await home.run(['run', block('true')], { directory: shop })
  assert.equal((await last()).agent_config.environment_id?.length, 22)
  git('config', 'runyard.runIn', 'nothing')
  assert.equal((await home.run(['run', block('true')], { directory: shop })).stderr, '')
  assert.deepEqual((await last()).agent_config.environment_id, undefined)
})

test('a checkout of an address is brought by it, as far as it is pushed', LIMIT, async () => {
  const elsewhere = new Home()
  try {
    // A connection that no `dev` of this folder wrote.
    const environment = { RUNYARD_BASE_URL: 'http://127.0.0.1:1', RUNYARD_API_KEY: 'ry_x' }
    const clone = join(elsewhere.directory, 'clone')
    mkdirSync(clone)
    execFileSync('git', ['clone', '--quiet', shop, clone])
    const inClone = (...args: string[]) => execFileSync('git', ['-C', clone, ...args])
    const told = async () =>
      (await elsewhere.run(['run', 'x'], { directory: clone, environment })).stderr.split('\n')[0]
    const branch = git('symbolic-ref', '--short', 'HEAD')
    inClone('remote', 'set-url', 'origin', 'git@github.com:acme/shop.git')
    assert.match((await told()) ?? '', new RegExp(`--repo git@github.com:acme/shop.git#${branch}$`))
    inClone('checkout', '--quiet', '-b', 'mine')
    assert.match((await told()) ?? '', /--repo git@github.com:acme\/shop.git$/)
    inClone('remote', 'set-url', 'origin', '/somewhere/else')
    assert.match((await told()) ?? '', /^error: Cannot reach/)
  } finally {
    await elsewhere.remove()
  }
})

test('two ways to write one repository are the same', () => {
  for (const address of [
    'https://github.com/acme/shop',
    'https://GitHub.com/acme/shop.git',
    'git@github.com:acme/shop.git',
    'ssh://git@github.com/acme/shop/',
    'https://token@github.com/acme/shop',
  ])
    assert.equal(nameRepository(address), 'github.com/acme/shop')
})

test(
  'init makes an environment of what the checkout says, which its runs use from then on',
  LIMIT,
  async () => {
    const app = join(home.directory, 'web-shop')
    makeRepository(app)
    const init = (...args: string[]) => home.run(['init', ...args], { directory: app })
    const outside = await home.run(['init', '--yes'], { directory: tmpdir() })
    assert.deepEqual([outside.code, /There is no git checkout here/.test(outside.stderr)], [2, true])
    writeFileSync(join(app, 'package-lock.json'), '{}')
    const config = {
      ...{ name: 'web-shop', repositories: [{ local_path: app }] },
      setup_commands: ['npm ci'],
    }
    assert.deepEqual(JSON.parse((await init('--dry-run')).stdout), config)
    const unasked = await init()
    assert.deepEqual([unasked.code, /Without a terminal, --yes is needed/.test(unasked.stderr)], [2, true])
    writeFileSync(join(app, '.nvmrc'), '22')
    const made = await init('--yes')
    assert.equal(made.code, 0, made.stderr)
    assert.match(
      made.stderr,
      /^Environment web-shop\nrepository: \/\S+web-shop, at its default branch\nsetup: npm ci \(package-lock\.json\)\n/,
    )
    const again = await init('--yes')
    assert.deepEqual([again.code, /There is an environment web-shop already/.test(again.stderr)], [2, true])
    const { code, stderr } = await home.run(['run', block('true'), '--detach'], { directory: app })
    assert.deepEqual([code, /In the environment web-shop/.test(stderr)], [0, true], stderr)
    await home.run(['cancel', '@last'])
  },
)

test('init takes options before what it found, and shows what it makes', LIMIT, async () => {
  const app = join(home.directory, 'web-shop')
  const options = ['--name', 'other', '--repo', 'acme/thing', '--setup', 'make other', '--image', 'debian:13']
  const made = await home.run(['init', '--yes', '-o', 'json', ...options], { directory: app })
  assert.equal(made.code, 0, made.stderr)
  assert.match(
    made.stderr,
    /^Environment other\nrepository: acme\/thing, .*\nsetup: make other\nimage: debian:13\n/,
  )
  const refused = await home.run(['init', '--yes', '--name', 'third', '--image', 'node:22'], {
    directory: app,
  })
  assert.deepEqual([refused.code, /does not allow the image node:22/.test(refused.stderr)], [1, true])
  const { config } = JSON.parse(made.stdout)
  assert.deepEqual([config.setup_commands, config.docker_image], [['make other'], 'debian:13'])
})

test('a token in the address of a remote is neither shown nor sent', LIMIT, async () => {
  const app = join(home.directory, 'secret-shop')
  makeRepository(app)
  // Not the folder that the service was started in.
  execFileSync('git', [
    '-C',
    app,
    'remote',
    'add',
    'origin',
    'https://bob:ghp_TOKEN@git.example.com/acme/shop.git',
  ])
  const environment = { RUNYARD_BASE_URL: service.base_url, RUNYARD_API_KEY: service.api_key }
  const told = await home.run(['init', '--dry-run'], { directory: app, environment })
  assert.deepEqual(JSON.parse(told.stdout).repositories, [{ url: 'https://git.example.com/acme/shop.git' }])
  const run = await home.run(['run', block('true'), '--detach'], { directory: app, environment })
  assert.match(run.stderr, /--repo https:\/\/git\.example\.com\/acme\/shop\.git/)
  assert(!`${told.stdout}${told.stderr}${run.stdout}${run.stderr}`.includes('TOKEN'))
  await home.run(['cancel', '@last'])
})

test('of a run whose setup failed, diff says that its agent never began', LIMIT, async () => {
  await home.run(['env', 'create', 'broken', '--repo', './shop', '--setup', 'false'])
  assert.equal((await home.run(['run', block('true'), '--env', 'broken'])).code, 1)
  const { stderr } = await home.run(['diff', '@last'])
  assert.match(stderr, /its setup failed, so its agent never began/)
})
