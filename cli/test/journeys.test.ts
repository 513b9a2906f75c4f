import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Environment, RunEvent, RunItem } from '@runyard/client'
import { LONG } from '../../server/test/support/once.ts'
import { type Ended, Home, printedBy } from './runyard.ts'

const LIMIT = { timeout: 600_000 }
const home = new Home()

const block = (...commands: string[]): string => `\`\`\`sh\n${commands.join('\n')}\n\`\`\``
const lastRun = async (): Promise<RunItem> => {
  const { stdout } = await home.run(['list', '--limit', '1', '--sort', 'created_at', '-o', 'ndjson'])
  return JSON.parse(stdout) as RunItem
}

before(() => home.serve({ env: { RUNYARD_LOCAL_REPOS: home.directory } }), LIMIT)
after(() => home.remove(), LIMIT)

test('run shows the run and ends with 0', LIMIT, async () => {
  const { code, stdout, stderr } = await home.run(['run', block('echo hello from the sandbox')])
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^Run [0-9a-f-]{36}\nhttp/)
  assert.match(stdout, /▸ \$ echo hello from the sandbox\n {2}│ hello from the sandbox\n {2}✓ /)
  assert.match(stdout, /✓ Succeeded in /)
  assert.equal((await lastRun()).source, 'CLI')
})

test('a prompt from a file and from standard input', LIMIT, async () => {
  writeFileSync(join(home.directory, 'prompt.md'), block('echo from a file'))
  assert.match((await home.run(['run', '-f', 'prompt.md'])).stdout, /│ from a file\n/)
  assert.match((await home.run(['run', '-'], { input: block('echo from a pipe') })).stdout, /│ from a pipe\n/)
})

test(
  'files are read in the encodings that editors and shells write, or their encoding is named',
  LIMIT,
  async () => {
    const prompt = block('echo größer')
    const write = (name: string, bytes: Uint8Array) => writeFileSync(join(home.directory, name), bytes)
    write('utf16.md', Buffer.from(`\ufeff${prompt}`, 'utf16le'))
    assert.match((await home.run(['run', '-f', 'utf16.md'])).stdout, /│ größer\n/)
    const input = Buffer.from(`\ufeff${prompt.replaceAll('\n', '\r\n')}`)
    assert.match((await home.run(['run', '-'], { input })).stdout, /│ größer\n/)
    write('latin1.md', Buffer.from(prompt, 'latin1'))
    const refused = await home.run(['run', '-f', 'latin1.md'])
    assert.equal(refused.code, 2)
    assert.match(
      refused.stderr,
      /latin1\.md is text in an encoding of one byte a letter, such as Latin-1.*\n.*iconv -f WINDOWS-1252/s,
    )
    assert.match(
      (await home.run(['run', '-'], { input: Buffer.from(prompt, 'latin1') })).stderr,
      /Standard input is text/,
    )
    write('env.json', Buffer.from('\ufeff{"description": "With a mark."}'))
    const created = await home.run(['env', 'create', 'marked', '--file', 'env.json', '-o', 'json'])
    assert.equal(created.code, 0, created.stderr)
    write('env16.json', Buffer.from('\ufeff{"description": "As PowerShell writes it."}', 'utf16le'))
    const changed = await home.run(['env', 'create', 'shell', '--file', 'env16.json', '-o', 'json'])
    assert.equal(changed.code, 0, changed.stderr)
  },
)

test('a failed run ends with 1 and says why', LIMIT, async () => {
  const { code, stdout } = await home.run(['run', block('exit 7')])
  assert.equal(code, 1)
  assert.match(stdout, /✗ exit code 7/)
  assert.match(stdout, /✗ Failed in [^\n]*\n {2}Step 1 [^\n]*exit code 7/)
})

test('a message to a run whose setup failed is a debug turn, and `message` says so', LIMIT, async () => {
  const config = { setup_commands: ['echo half > left.txt; exit 3'], failure_session_retention_minutes: 5 }
  writeFileSync(join(home.directory, 'failing.json'), JSON.stringify(config))
  await home.run(['env', 'create', 'failing', '-f', 'failing.json'])
  assert.equal((await home.run(['run', block('true'), '--env', 'failing'])).code, 1)
  const { run_id } = await lastRun()
  const { stdout } = await home.run(['message', run_id, block('cat left.txt')])
  assert.match(stdout, /^Debug turn: .*failed setup's sandbox; the run stays FAILED\n$/)
  const { stdout: log } = await home.run(['follow', run_id])
  assert.match(log, /│ half\n.*· The debug turn ended/s)
  assert.equal((await lastRun()).state, 'FAILED')
})

test('escape sequences of the agent do not reach the terminal, unless --raw', LIMIT, async () => {
  const prompt = block("printf '\\033[31mred\\033[0m\\033]0;title\\007\\n'")
  const { stdout } = await home.run(['run', prompt])
  assert.match(stdout, /│ red\n/)
  assert.ok(!stdout.includes('\u001b') && !stdout.includes('\u0007'))
  assert.ok((await home.run(['run', prompt, '--raw'])).stdout.includes('\u001b[31mred'))
})

test('what is given to run arrives', LIMIT, async () => {
  writeFileSync(join(home.directory, 'notes.txt'), 'attached\n')
  const created = await home.run([
    ...[
      'run',
      block('cat attachments/notes.txt'),
      '--name',
      'triage',
      '--title',
      'A title',
      '--harness',
      'runbook',
    ],
    ...['--metadata', 'team=core', '--metadata', 'note=a=b', '--attach', 'notes.txt', '-o', 'json'],
  ])
  assert.equal(created.code, 0, created.stderr)
  const run = JSON.parse(created.stdout) as RunItem
  assert.equal(run.title, 'A title')
  assert.equal(run.agent_config.name, 'triage')
  assert.deepEqual(run.metadata, { team: 'core', note: 'a=b' })
  assert.match((await home.run(['follow', run.run_id])).stdout, /│ attached\n/)
  // More than a request may hold.
  const names = ['1.txt', '2.txt', '3.txt', '4.txt', '5.txt', '6.txt']
  for (const name of names) writeFileSync(join(home.directory, name), `sent as ${name}\n`)
  const message = ['message', run.run_id, block('cat attachments/?.txt'), '--wait']
  const sent = await home.run([...message, ...names.flatMap((name) => ['--attach', name])])
  for (const name of names) assert.match(sent.stdout, new RegExp(`│ sent as ${name}\n`), sent.stderr)
  // A runbook hands in no result.
  writeFileSync(join(home.directory, 'schema.json'), '{"type":"object"}')
  const refused = await home.run(['run', 'x', '--harness', 'runbook', '--output-schema', 'schema.json'])
  assert.match(refused.stderr, /--output-schema: /)
})

test('list filters, get reads, follow shows again and from an event on', LIMIT, async () => {
  const { stdout: id } = await home.run(['run', '--detach', '--name', 'listed', block('echo listed')])
  assert.match(id, /^[0-9a-f-]{36}\n$/)
  const run_id = id.trim()
  const followed = await home.run(['follow', run_id])
  assert.equal(followed.code, 0)
  assert.match(followed.stdout, /│ listed\n/)

  const listed = await home.run([
    'list',
    '--name',
    'listed',
    '--state',
    'succeeded,failed',
    '--created-after',
    '1h',
  ])
  assert.match(
    listed.stdout,
    new RegExp(`^RUN +STATE +TITLE +AGENT +DURATION +UPDATED\n${run_id}  SUCCEEDED  .* listed `),
  )
  assert.equal(listed.stdout.trim().split('\n').length, 2)
  const page = JSON.parse((await home.run(['list', '-o', 'json', '-l', '1'])).stdout)
  assert.equal(page.runs.length, 1)
  assert.equal(page.page_info.has_next_page, true)
  assert.match((await home.run(['list', '--name', 'nobody'])).stderr, /^No runs\.\n$/)

  const shown = await home.run(['get', run_id])
  assert.match(shown.stdout, /^```sh|^echo listed/)
  assert.match(shown.stdout, /\nstate +SUCCEEDED\n/)
  assert.equal(JSON.parse((await home.run(['get', run_id, '-o', 'json'])).stdout).run_id, run_id)

  const events = (await home.run(['follow', run_id, '-o', 'ndjson'])).stdout
  const log = events
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as RunEvent)
  assert.deepEqual(
    log.map((event) => event.sequence),
    log.map((_, at) => at + 1),
  )
  const rest = (await home.run(['follow', run_id, '-o', 'ndjson', '--after', '3'])).stdout
  assert.equal(rest, events.split('\n').slice(3).join('\n'))
})

test(
  'a message to an ended run goes on with it, unless it has no words, and only the new part is shown',
  LIMIT,
  async () => {
    await home.run(['run', block('echo first')])
    const { run_id } = await lastRun()
    for (const words of LONG ? ['', ' \n'] : [' \n']) {
      const { code, stderr } = await home.run(['message', run_id, words])
      assert.deepEqual([code, /^error: A message is needed\./.test(stderr)], [2, true], stderr)
    }
    assert.equal((await lastRun()).state, 'SUCCEEDED', 'it is not failed by that')
    const { code, stdout } = await home.run(['message', run_id, block('echo second'), '--wait'])
    assert.equal(code, 0)
    assert.match(stdout, /│ second\n/)
    assert.ok(!stdout.includes('first'))
    const quick = await home.run(['message', run_id, block('echo third')])
    assert.deepEqual([quick.code, quick.stdout], [0, 'The run goes on with the message.\n'])
    assert.match((await home.run(['follow', run_id])).stdout, /first[\s\S]*second[\s\S]*third/)
  },
)

test('a file that cannot be read is refused in words', LIMIT, async () => {
  const reasons = { missing: 'there is no such file', '.': 'it is a folder' }
  for (const [file, reason] of Object.entries(reasons)) {
    const { code, stderr } = await home.run(['run', '-f', file])
    assert.deepEqual([code, stderr], [2, `error: Cannot read ${file}: ${reason}.\n`])
  }
})

test(
  'a working run refuses with --reject, is interrupted, answered, and cancelled with 3',
  LIMIT,
  async () => {
    const watching = home.start(['run', block('echo started; sleep 60')])
    await printedBy(watching, /│ started\n/)
    const { run_id } = await lastRun()
    const refused = await home.run(['message', run_id, 'hello', '--reject'])
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /^error: .*working/)

    assert.equal((await home.run(['interrupt', run_id])).code, 0)
    const stopped = await watching.ended
    assert.equal(stopped.code, 5)
    assert.match(stopped.stdout, /■ Interrupted/)
    assert.match(stopped.stderr, new RegExp(`runyard message ${run_id}`))

    const again = home.start(['message', run_id, block('echo again; sleep 60'), '--wait'])
    await printedBy(again, /│ again\n/)
    assert.equal((await home.run(['cancel', run_id])).stdout, `Cancelled ${run_id}\n`)
    const cancelled = await again.ended
    assert.equal(cancelled.code, 3)
    assert.match(cancelled.stdout, /■ Cancelled/)
    const twice = await home.run(['cancel', run_id])
    assert.equal(twice.code, 1)
    assert.match(twice.stderr, /already ended/)
  },
)

test('Ctrl-C without a terminal leaves the run alone', LIMIT, async () => {
  const watching = home.spawn(['run', block('echo started; sleep 60')])
  await printedBy(watching, /│ started\n/)
  watching.kill('SIGINT')
  const { code, stderr } = await watching.ended
  assert.equal(code, 130)
  const run = await lastRun()
  assert.match(stderr, new RegExp(`The run goes on.*${run.run_id}`))
  assert.equal(run.state, 'INPROGRESS')
  await home.run(['cancel', run.run_id])
})

test('artifacts are downloaded under a safe name, and nothing is replaced unasked', LIMIT, async () => {
  const prompt = block(
    'mkdir -p "$RUNYARD_ARTIFACTS_DIR"',
    'echo made > "$RUNYARD_ARTIFACTS_DIR/report one.txt"',
  )
  assert.match((await home.run(['run', prompt])).stdout, /\+ report one\.txt {2}5 B/)
  const [artifact] = (await lastRun()).artifacts
  assert.ok(artifact?.artifact_type === 'FILE')
  const uid = artifact.data.artifact_uid
  assert.equal((await home.run(['artifacts', 'get', uid])).stdout, 'report_one.txt (5 B)\n')
  assert.equal(readFileSync(join(home.directory, 'report_one.txt'), 'utf8'), 'made\n')
  assert.equal((await home.run(['artifacts', 'get', uid])).code, 2)
  assert.equal((await home.run(['artifacts', 'get', uid, '-f', '-'])).stdout, 'made\n')
  const { stdout: link } = await home.run(['artifacts', 'open', uid])
  assert.equal(await (await fetch(link.trim())).text(), 'made\n')
})

test(
  'all files of a run are saved at once, of those of one name each under a name of its own',
  LIMIT,
  async () => {
    const prompt = block(
      'mkdir -p "$RUNYARD_ARTIFACTS_DIR"/{one,two}',
      'for each in one two; do echo $each > "$RUNYARD_ARTIFACTS_DIR/$each/report.txt"; done',
    )
    await home.run(['run', prompt])
    const listed = await home.run(['artifacts', 'list', '@last'])
    assert.match(listed.stdout, /one\/report\.txt \(4 B\)\n.*two\/report\.txt \(4 B\)\n/)
    const saved = await home.run(['artifacts', 'save', '@last', '--to', 'saved'])
    assert.equal(saved.stdout, 'saved/report.txt (4 B)\nsaved/report-2.txt (4 B)\n', saved.stderr)
    const read = (name: string) => readFileSync(join(home.directory, 'saved', name), 'utf8')
    assert.deepEqual(['report.txt', 'report-2.txt'].map(read), ['one\n', 'two\n'])
    const again = await home.run(['artifacts', 'save', '@last', '--to', 'saved'])
    assert.deepEqual([again.code, /exists already/.test(again.stderr)], [1, true])
    assert.equal((await home.run(['artifacts', 'save', '@last', '--to', 'saved', '--force'])).code, 0)
    await home.run(['run', block('true')])
    const none = await home.run(['artifacts', 'save', '@last'])
    assert.deepEqual([none.code, /has made no files/.test(none.stderr)], [1, true])
  },
)

test(
  'a repository is an address unless it is plainly a path: with a dot, of the folder where the command was given',
  LIMIT,
  async () => {
    const directory = join(home.directory, 'elsewhere')
    mkdirSync(directory)
    const repo = [
      '--repo',
      '.',
      '--repo',
      '../beside#main',
      '--repo',
      'acme/site',
      '--repo',
      'git@example.org:shop.git#feat/#7',
    ]
    const made = await home.run(['env', 'create', 'here', ...repo], { directory })
    assert.equal(made.code, 0, made.stderr)
    assert.equal(made.stderr, 'Created. Use it: runyard run … --env here\n')
    const read = JSON.parse((await home.run(['env', 'get', 'here'])).stdout) as Environment
    const odd = await home.run(['env', 'create', 'odd', '--repo', 'shop'], { directory })
    assert.match(odd.stderr, /repositories\.0\.url: must be the https address .* local_path/s)
    assert.deepEqual(read.config.repositories, [
      { local_path: directory },
      { local_path: join(home.directory, 'beside'), ref: 'main' },
      { url: 'https://github.com/acme/site' },
      { url: 'https://example.org/shop.git', ref: 'feat/#7' },
    ])
  },
)

test(
  'environments are made, listed, and addressed by name: read, changed, renamed, used and deleted',
  LIMIT,
  async () => {
    const env = (...args: string[]) => home.run(['env', ...args])
    const config = async (name: string) => JSON.parse((await env('get', name)).stdout).config as object
    const made = await env(
      'create',
      'my site',
      '--setup',
      'echo one',
      '--variable',
      'WHO=you',
      '--variable',
      'A=b',
    )
    assert.equal(made.code, 0, made.stderr)
    assert.match(made.stdout, /^[A-Za-z0-9]{22}\n$/)

    const taken = await env('create', 'my site')
    assert.deepEqual([taken.code, taken.stdout], [1, ''])
    assert.match(taken.stderr, /there is an environment called "my site" already/)

    const change = [
      '--description',
      'Of mine',
      '--variable',
      'B=c',
      '--remove-variable',
      'A',
      '--no-registries',
      '--models',
    ]
    const changed = await env('update', 'my site', ...change)
    assert.deepEqual([changed.code, changed.stdout], [0, made.stdout], changed.stderr)
    assert.deepEqual(await config('my site'), {
      name: 'my site',
      description: 'Of mine',
      setup_commands: ['echo one'],
      variables: { WHO: '***', B: '***' },
      package_registries: false,
      models: true,
    })
    assert.equal((await env('update', 'my site', '--name', 'site', '--registries', '--no-models')).code, 0)
    const run = await home.run(['run', block('echo hello $WHO $B'), '--env', 'site'])
    assert.match(run.stdout, /▸ \$ echo one\n {2}│ one\n/)
    assert.match(run.stdout, /│ hello you c\n/)
    const unnamed = await home.run(['run', block('true'), '--env', ''])
    assert.equal(unnamed.code, 1)
    assert.match(unnamed.stderr, /^error: --env: /)
    assert.match((await home.run(['list', '--env', 'site'])).stdout, /SUCCEEDED/)
    assert.match(
      (await env('list')).stdout,
      /^ENVIRONMENT +NAME .* LAST RUN .*\n(.*\n)*[A-Za-z0-9]{22} {2}site .*SUCCEEDED (just now|\d+s ago)/,
    )

    // A file is the whole of it, but for the name and for values that it keeps.
    const file = JSON.stringify({ variables: { WHO: '***' } })
    assert.equal((await home.run(['env', 'update', 'site', '-f', '-'], { input: file })).code, 0)
    assert.deepEqual(await config('site'), { name: 'site', variables: { WHO: '***' } })

    for (const [args, code, says] of [
      [['update', 'site'], 2, /Nothing is to be changed/],
      [['update', 'site', '--remove-variable', 'NONE'], 2, /There is no variable NONE/],
      [['update', 'site', '--variable', 'NEW=***'], 1, /variables\.NEW: "\*\*\*" keeps the value it has/],
      [['update', 'site', '--name', 'A'.repeat(22)], 1, /name: must not look like an id/],
      [['update', 'my site', '--description', 'x'], 1, /^error: There is no environment "/],
      [['get', 'nothing'], 1, /^error: There is no environment "/],
    ] as const) {
      const refused = await env(...args)
      assert.deepEqual([refused.code, refused.stdout], [code, ''], args.join(' '))
      assert.match(refused.stderr, says)
    }

    const deleted = await env('delete', 'site')
    assert.deepEqual([deleted.code, deleted.stdout], [0, made.stdout])
    assert.match(deleted.stderr, /Deleted site\./)
    assert.equal((await env('rm', made.stdout.trim())).code, 1)
    assert.match((await home.run(['list', '--env', made.stdout.trim()])).stdout, /SUCCEEDED/)
    assert.match(
      (await home.run(['run', 'x', '--env', 'site'])).stderr,
      /^error: There is no environment "site"\.\nhint: there are: /,
    )
  },
)

test('a wrong key, an unknown run and no server: one line, a hint, and a code', LIMIT, async () => {
  const environment = { RUNYARD_API_KEY: 'ry_wrong' }
  const wrong = await home.run(['list'], { environment })
  assert.equal(wrong.code, 1)
  assert.match(wrong.stderr, /^error: [^\n]+\nhint: [^\n]+\n$/)
  const unknown = await home.run(['get', '0190'])
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /^error: There is no run whose id begins or ends with 0190\.\nhint: /)
  const no_id = await home.run(['get', 'nope'])
  assert.equal(no_id.code, 2)
  assert.match(no_id.stderr, /^error: "nope" is not the id of a run\.\nhint: /)

  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  const nobody = { RUNYARD_BASE_URL: `http://127.0.0.1:${port}`, RUNYARD_API_KEY: 'ry_x' }
  const away = await home.run(['list'], { environment: nobody })
  assert.equal(away.code, 4)
  assert.match(away.stderr, /^error: Cannot reach http:\/\/127\.0\.0\.1:\d+: .*\nhint: .*runyard dev.*\n$/)
  const lost = new Home()
  const { code, stderr } = await lost.run(['list'])
  await lost.remove()
  assert.equal(code, 4)
  assert.match(stderr, /^error: No Runyard server is known here\.\nhint: /)
})

test('wrong use ends with 2', LIMIT, async () => {
  const commands = [
    ['nonsense'],
    ['run'],
    ['run', 'x', '--wait', '--detach'],
    ['run', 'x', '-f', 'prompt.md'],
    ['run', 'x', '--metadata', 'novalue'],
    ['list', '--limit', 'many'],
    ['apply', 'x'],
  ]
  // What is said in the same way.
  const others = [
    ['run', 'x', '--nonsense'],
    ['run', '-f', 'missing.md'],
    ['list', '-o', 'xml'],
    ['get'],
    ['diff'],
    ['diff', 'x', '--turn', '0'],
    ['apply'],
    ['dev', '--port', '99999'],
    ['serve', '--tls-cert', 'only.pem'],
  ]
  const assertRefused = async (args: string[], ended: Promise<Ended>): Promise<void> => {
    const { code, stdout, stderr } = await ended
    assert.equal(code, 2, `${args.join(' ')}: ${stderr}`)
    assert.equal(stdout, '')
    assert.match(stderr, /^error: /)
  }
  for (const args of LONG ? [...commands, ...others] : commands) await assertRefused(args, home.run(args))
  for (const args of [['nonsense'], ['serve']]) await assertRefused(args, home.runProcess(args))
  for (const args of LONG
    ? [['--help'], ['--version'], ['run', '--help'], ['help', 'list']]
    : [['--version']]) {
    assert.equal((await home.run(args)).code, 0)
  }
})

test('a reader that has seen enough is no error', LIMIT, async () => {
  const child = home.spawn(['run', block('for i in $(seq 20000); do echo line $i; done')])
  await printedBy(child, /│ line 1\n/)
  child.ended.catch(() => {})
  child.stdout?.destroy()
  const [code] = await once(child, 'exit')
  assert.equal(code, 0)
})
