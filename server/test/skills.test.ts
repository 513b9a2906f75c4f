import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Runyard } from '@runyard/client'
import OzAPI from 'oz-agent-sdk'
import type { AgentSkill } from '../src/contract/skill.ts'
import { git, makeRepository } from './support/git.ts'
import { type ChatRequest, type ModelServer, openModelServer, type Reply } from './support/model-server.ts'
import { onlyLong } from './support/once.ts'
import { apiOf, spawnRunyard, startService, type TestService, temporaryDirectory } from './support/service.ts'
import { ofType } from './support/traces.ts'

const skill = (name: string, text: string, description = `About ${name}.`) =>
  `---\nname: ${name}\ndescription: ${description}\n---\n${text}\n`

/** The calls that the prompt names as JSON, one a line, then the end. */
function answer({ messages }: ChatRequest): Reply {
  const prompt = messages.findLast(({ role }) => role === 'user')
  const text = typeof prompt?.content === 'string' ? prompt.content : ''
  const calls = text.match(/^\{.*\}$/gm) ?? []
  if (messages.at(-1)?.role === 'tool' || calls.length === 0) return { text: 'Done.' }
  return {
    calls: calls.map((call) => ({
      name: 'load_skill',
      arguments: JSON.parse(call) as Record<string, unknown>,
    })),
  }
}

describe('skills', () => {
  const place = temporaryDirectory('local')
  let model: ModelServer
  let service: TestService
  let api: ReturnType<typeof apiOf>
  let client: Runyard
  const commits: Record<string, string> = {}
  const environments: Record<string, string> = {}

  const write = (repository: string, files: Record<string, string>) => {
    const directory = join(place, repository)
    mkdirSync(dirname(directory), { recursive: true })
    makeRepository(directory)
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(directory, path)), { recursive: true })
      writeFileSync(join(directory, path), text)
    }
    return directory
  }
  const commit = (repository: string) => {
    const directory = join(place, repository)
    git(directory, 'add', '--all')
    git(directory, 'commit', '--quiet', '--message', 'skills')
    commits[repository] = git(directory, 'rev-parse', 'HEAD')
  }
  const addEnvironment = async (name: string, ...repositories: string[]) => {
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
      name,
      repositories: repositories.map((path) => ({
        local_path: join(place, path),
        directory: path.replace('/', '-'),
      })),
    })
    environments[name] = uid
  }

  before(async () => {
    write('acme/site', {
      'AGENTS.md': 'Always run the tests of the site.',
      'CLAUDE.md': 'Not read beside AGENTS.md.',
      '.claude/skills/deploy/SKILL.md': skill(
        'deploy',
        'Deploy it to $1. All: $ARGUMENTS',
        'Deploys the site.',
      ),
      '.claude/skills/deploy/scripts/go.sh': 'echo going',
      '.agents/skills/review/SKILL.md': skill('review', 'Review with care.'),
      '.claude/skills/review/SKILL.md': skill('review', 'The second one.'),
      '.codex/skills/odd/SKILL.md': skill('even', 'Wrong name.'),
      '.codex/skills/colon/SKILL.md': `---\nname: colon\ndescription: Use when reviewing: x\nargument-hint: [a] [b]\n---\nRead.`,
      'tools/skills/build/SKILL.md': skill('build', 'Build by place.'),
    })
    commit('acme/site')
    write('acme/app', {
      'CLAUDE.md': 'The app is written in French.',
      '.claude/skills/deploy/SKILL.md': skill('deploy', 'Deploy the app.', 'Deploys the app.'),
      '.claude/skills/steps/SKILL.md': skill('steps', '```sh\necho of the skill $1\n```'),
    })
    commit('acme/app')
    write('acme/big', { 'AGENTS.md': 'Very long. '.repeat(7_000) })
    commit('acme/big')
    model = await openModelServer(answer, { models: [{ id: 'scripted' }] })
    service = await startService({
      env: {
        ...{ OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'k', RUNYARD_DEFAULT_MODEL: 'openai/scripted' },
        RUNYARD_LOCAL_REPOS: place,
      },
    })
    api = apiOf(service)
    client = new Runyard({ baseURL: service.base_url, apiKey: service.api_key })
    await addEnvironment('site', 'acme/site')
    await addEnvironment('both', 'acme/site', 'acme/app')
    await addEnvironment('big', 'acme/big')
  })
  after(async () => {
    await service?.stop()
    await model?.close()
  })

  const systemOf = (word: string) =>
    String(
      model.requests.find(({ body }) => JSON.stringify(body.messages).includes(word))?.body.messages[0]
        ?.content,
    )
  const run = async (request: Record<string, unknown>) => {
    const mark = randomUUID()
    const given = typeof request.prompt === 'string' ? request.prompt : mark
    const run_id = await api.create({ ...request, prompt: `${given} ${mark}` })
    const ended = await api.ended(run_id, 60)
    return { run: ended, system: systemOf(mark), events: await api.events(run_id), mark }
  }

  test('are given by name and by place, in a request, by the client and by the command', async () => {
    const id = 'acme/site:.claude/skills/deploy/SKILL.md'
    for (const spec of ['acme/site:deploy', id]) {
      const by_http = await run({
        skill: spec,
        prompt: 'staging',
        config: { environment_id: environments.both },
      })
      assert.equal(by_http.run.state, 'SUCCEEDED', JSON.stringify(by_http.run.status_message))
      assert.deepEqual(by_http.run.agent_skill, {
        ...{ name: 'deploy', full_path: id, description: 'Deploys the site.', commit: commits['acme/site'] },
      })
      assert.equal(by_http.run.agent_config.name, 'deploy')
      assert(by_http.system.includes(`Deploy it to staging. All: staging ${by_http.mark}`), by_http.system)
      assert.match(by_http.system, /below \/workspace\/acme-site\/\.claude\/skills\/deploy: scripts\/go\.sh/)

      const mark = randomUUID()
      const by_client = await client.runs.createAndWait({
        prompt: mark,
        config: { skill_spec: spec, environment_id: 'both', name: 'mine' },
      })
      assert.equal(by_client.agent_skill?.full_path, id)
      assert.equal(by_client.agent_config.name, 'mine')
      assert(systemOf(mark).includes(`Deploy it to ${mark}.`))

      const word = randomUUID()
      const env = { RUNYARD_BASE_URL: service.base_url, RUNYARD_API_KEY: service.api_key }
      const child = spawnRunyard(['run', word, '--skill', spec, '--env', 'both'], env)
      let printed = ''
      child.stdout?.on('data', (data) => (printed += data))
      const code = await new Promise((resolve) => child.once('close', resolve))
      assert.equal(code, 0, `${printed}${child.log()}`)
      assert(systemOf(word).includes(`Deploy it to ${word}.`))
    }
  })

  test('are started without a prompt, by the published client too', async () => {
    const oz = new OzAPI({ apiKey: service.api_key, baseURL: service.base_url })
    const { run_id } = await oz.agent.run({
      skill: 'site:review',
      config: { environment_id: environments.site ?? '' },
    })
    const ended = await api.ended(run_id, 60)
    assert.equal(ended.state, 'SUCCEEDED', JSON.stringify(ended.status_message))
    assert.equal(ended.agent_skill?.full_path, 'acme/site:.agents/skills/review/SKILL.md')
    const { agents } = await oz.agent.list({ repo: 'acme/site', sort_by: 'last_run' })
    assert(agents.some(({ name, variants }) => name === 'review' && variants[0]?.last_run_timestamp))
  })

  test('are attached, several at once', async () => {
    const skills = ['acme/site:deploy', 'acme/site:review', 'acme/app:deploy']
    const { run: ended, system } = await run({ config: { skills, environment_id: environments.both } })
    assert.equal(ended.state, 'SUCCEEDED', JSON.stringify(ended.status_message))
    assert.equal(ended.agent_config.name, 'deploy')
    assert.equal(ended.agent_skill?.full_path, 'acme/site:.claude/skills/deploy/SKILL.md')
    assert.match(
      system,
      /skill deploy[\s\S]*Deploy it to[\s\S]*skill review[\s\S]*Review with care[\s\S]*Deploy the app/,
    )
    const gone = await run({
      config: { skills: ['acme/site:deploy', 'gone'], environment_id: environments.both },
    })
    assert.match(gone.run.status_message?.message ?? '', /has no skill "gone"/)
  })

  test('elsewhere in the repository are given by place', async () => {
    const { run: ended, system } = await run({
      ...{ skill: 'acme/site:tools/skills/build/SKILL.md', config: { environment_id: environments.both } },
    })
    assert.equal(ended.agent_skill?.name, 'build', JSON.stringify(ended.status_message))
    assert.match(system, /Build by place\./)
  })

  test('that cannot be had end the run with what there is', async () => {
    const failed = async (spec: string, environment_id?: string) => {
      const config = environment_id ? { environment_id } : {}
      const { run: ended } = await run({ skill: spec, config })
      assert.equal(ended.state, 'FAILED')
      assert.equal(ended.status_message?.error_code, 'resource_not_found')
      return ended.status_message?.message ?? ''
    }
    assert.match(
      await failed('deploy', environments.both),
      /more than one repository: acme\/site:.*, acme\/app:.*deploy\/SKILL\.md\./,
    )
    assert.match(
      await failed('acme/site:gone', environments.site),
      /has no skill "acme\/site:gone"\. There are acme\/site:\.agents/,
    )
    assert.match(
      await failed('acme/site:odd', environments.site),
      /odd\/SKILL\.md cannot be used\. name: is "even"/,
    )
    assert.match(await failed('acme/site:deploy'), /no repository to find it in/)
  })

  test('and guides of the repositories are told to the agent, which loads what it needs', async () => {
    const id = 'acme/site:.claude/skills/deploy/SKILL.md'
    const inputs = [
      { skill: 'review' },
      { skill: id },
      { skill: id, file: 'scripts/go.sh' },
      { skill: id, file: '../review/SKILL.md' },
      { skill: 'deploy' },
    ]
    const {
      run: ended,
      events,
      system,
    } = await run({
      prompt: `${inputs.map((input) => JSON.stringify(input)).join('\n')}\n`,
      config: { environment_id: environments.both, base_prompt: 'On top.' },
    })
    assert.equal(ended.state, 'SUCCEEDED', JSON.stringify(ended.status_message))
    const results = new Map(ofType(events, 'tool.result').map(({ data }) => [data.tool_call_id, data]))
    const [review, whole, file, refused, unclear] = ofType(events, 'tool.call').map(({ data }) =>
      results.get(data.tool_call_id),
    )
    assert.equal(review?.output, 'Review with care.')
    assert.match(
      system,
      /words of the repository in \/workspace\/acme-site \(AGENTS\.md\)[\s\S]*Always run the tests of the site\.[\s\S]*written in French[\s\S]*- deploy \(acme\/site:\.claude\/skills\/deploy\/SKILL\.md\): Deploys the site\.[\s\S]*On top\.$/,
    )
    assert(!system.includes('Not read beside') && !system.includes('Review with care'))
    assert.match(
      whole?.output ?? '',
      /^Deploy it to \$1.*\n\n\[Its files, below \/workspace\/acme-site.*: scripts\/go\.sh\]$/s,
    )
    assert.equal(file?.output, 'echo going\n'.trimEnd())
    assert.deepEqual([refused?.is_error, /has no text file/.test(refused?.output ?? '')], [true, true])
    assert.match(unclear?.output ?? '', /more than one repository/)
  })

  test('a guide that is too large is left to the agent to read', async () => {
    const { system } = await run({ config: { environment_id: environments.big } })
    assert.match(
      system,
      /\/workspace\/acme-big \(AGENTS\.md\)[\s\S]*It has 77000 bytes, too many to be shown here: read it before you begin\./,
    )
  })

  test('are those of the commit, whatever has become of the files since', async () => {
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
      ...{
        name: 'changed',
        setup_commands: ['echo Evil >AGENTS.md && echo Evil >.agents/skills/review/SKILL.md'],
      },
      repositories: [{ local_path: join(place, 'acme/site'), directory: 'site' }],
    })
    const { run: ended, system } = await run({ skill: 'review', config: { environment_id: uid } })
    assert.equal(ended.state, 'SUCCEEDED', JSON.stringify(ended.status_message))
    assert.equal(ended.agent_skill?.commit, commits['acme/site'])
    assert.match(system, /Always run the tests[\s\S]*Review with care\./)
    assert(!system.includes('Evil'))
  })

  test('of a runbook are steps', async () => {
    const { run: ended, events } = await run({
      prompt: 'first\n```sh\necho of the prompt\n```\n',
      skill: 'acme/app:steps',
      config: { environment_id: environments.both, harness: { type: 'runbook' } },
    })
    assert.equal(ended.state, 'SUCCEEDED', JSON.stringify(ended.status_message))
    const text = ofType(events, 'tool.output').map(({ data }) => data.text)
    assert.deepEqual(text.slice(0, 2), ['of the skill first\n', 'of the prompt\n'])
  })

  test('are told of in the log where they cannot be used', async () => {
    const { events, system } = await run({ config: { environment_id: environments.site } })
    assert.deepEqual(
      ofType(events, 'setup').flatMap(({ data }) =>
        data.phase === 'skill' ? [[data.name, data.status, data.output]] : [],
      ),
      [
        [
          'acme/site:.codex/skills/odd/SKILL.md',
          'failed',
          'It cannot be used. name: is "even", and its folder is "odd".',
        ],
      ],
    )
    assert.match(system, /colon.*Use when reviewing: x/)
  })

  test('are listed, with those that are malformed where they are asked for', async () => {
    // The tests before have had runs in all these environments.
    const listed = async (query = '') =>
      (await api.json<{ agents: AgentSkill[] }>('GET', `/agent${query}`)).agents
    const all = await listed()
    assert.deepEqual(
      all.map(({ name, variants }) => [name, variants.map(({ id }) => id)]),
      [
        ['build', ['acme/site:tools/skills/build/SKILL.md']],
        ['colon', ['acme/site:.codex/skills/colon/SKILL.md']],
        ['deploy', ['acme/app:.claude/skills/deploy/SKILL.md', 'acme/site:.claude/skills/deploy/SKILL.md']],
        ['review', ['acme/site:.agents/skills/review/SKILL.md', 'acme/site:.claude/skills/review/SKILL.md']],
        ['steps', ['acme/app:.claude/skills/steps/SKILL.md']],
      ].filter(([name]) => name !== 'build'),
    )
    const deploy = all.find(({ name }) => name === 'deploy')?.variants.at(-1)
    assert.equal(deploy?.description, 'Deploys the site.')
    assert.equal(deploy?.base_prompt, 'Deploy it to $1. All: $ARGUMENTS')
    assert.deepEqual(deploy?.source, {
      owner: 'acme',
      name: 'site',
      skill_path: '.claude/skills/deploy/SKILL.md',
    })
    assert.deepEqual(deploy?.environments.map(({ name }) => name).sort(), ['both', 'changed', 'site'])
    assert(deploy?.last_run_timestamp)
    assert.deepEqual(
      (await listed('?repo=ACME/app')).map(({ name }) => name),
      ['deploy', 'steps'],
    )
    const malformed = (await listed('?include_malformed_skills=true')).find(({ name }) => name === 'odd')
    assert.match(malformed?.variants[0]?.error ?? '', /^name: is "even"/)
    assert.equal((await api.call('GET', '/agent?sort_by=age')).status, 400)
    const env = { RUNYARD_BASE_URL: service.base_url, RUNYARD_API_KEY: service.api_key }
    const child = spawnRunyard(['skill', 'list', '--repo', 'acme/site', '--malformed'], env)
    let printed = ''
    child.stdout?.on('data', (data) => (printed += data))
    await new Promise((resolve) => child.once('close', resolve))
    assert.match(
      printed,
      /^NAME +ID +ENVIRONMENTS +DESCRIPTION\ncolon .*\ndeploy +acme\/site:\S+\/SKILL\.md .*\nodd .*cannot be used: name/s,
    )
    assert.deepEqual(
      (await client.skills.list({ repo: 'acme/app' })).agents.map(({ name }) => name),
      ['deploy', 'steps'],
    )
  })

  test('are read again where that is asked for, without a run', async () => {
    const directory = write('acme/fresh', {
      '.claude/skills/first/SKILL.md': skill('first', 'The first one.'),
    })
    commit('acme/fresh')
    await addEnvironment('fresh', 'acme/fresh')
    const listed = async (query = '') => {
      const answer = await api.json<{
        agents: AgentSkill[]
        not_refreshed?: { name: string; reason: string }[]
      }>('GET', `/agent?repo=acme/fresh${query}`)
      return { ...answer, names: answer.agents.map(({ name }) => name) }
    }
    assert.deepEqual((await listed()).names, [], 'no run has looked yet')
    const first = await listed('&refresh=true')
    assert.deepEqual([first.names, first.not_refreshed], [['first'], []])

    mkdirSync(join(directory, '.claude/skills/second'))
    writeFileSync(join(directory, '.claude/skills/second/SKILL.md'), skill('second', 'The second one.'))
    commit('acme/fresh')
    assert.deepEqual((await listed()).names, ['first'], 'what is kept')
    const env = { RUNYARD_BASE_URL: service.base_url, RUNYARD_API_KEY: service.api_key }
    const child = spawnRunyard(['skill', 'list', '--repo', 'acme/fresh', '--refresh'], env)
    let printed = ''
    child.stdout?.on('data', (data) => (printed += data))
    await new Promise((resolve) => child.once('close', resolve))
    assert.match(printed, /\nfirst .*\nsecond /s)
    assert.deepEqual((await listed()).names, ['first', 'second'])

    // Several at once are all answered with what is there by then.
    git(directory, 'rm', '--quiet', '-r', '.claude/skills/first')
    commit('acme/fresh')
    const all = await Promise.all([1, 2, 3].map(() => listed('&refresh=true')))
    assert.deepEqual(
      all.map(({ names }) => names),
      [['second'], ['second'], ['second']],
    )
    const { runs } = await api.json<{ runs: unknown[] }>(
      'GET',
      `/agent/runs?environment_id=${environments.fresh}`,
    )
    assert.deepEqual(runs, [])

    rmSync(directory, { recursive: true })
    const gone = await listed('&refresh=true')
    assert.deepEqual(gone.names, ['second'], 'what was kept stays')
    assert.deepEqual(
      gone.not_refreshed?.map(({ name }) => name),
      ['fresh'],
    )
    assert.match(gone.not_refreshed?.[0]?.reason ?? '', /no local repository/)
    const { api_key } = await api.json<{ api_key: string }>('POST', '/api-keys', {
      ...{ name: 'reader', role: 'viewer' },
    })
    const viewer = apiOf({ ...service, api_key })
    assert.equal((await viewer.call('GET', '/agent?refresh=true')).status, 403)
    assert.equal((await viewer.call('GET', '/agent?refresh=false')).status, 200)
  })

  onlyLong('of a hostile repository hurt nobody', { timeout: 120_000 }, async () => {
    const directory = write('evil/repo', {
      '.claude/skills/fine/SKILL.md': skill('fine', 'Fine.'),
      '.claude/skills/huge/SKILL.md': skill('huge', 'x'.repeat(1024 ** 2)),
      '.claude/skills/bomb/SKILL.md': `---\nname: bomb\ndescription: x\na: &a [x,x]\nb: [*a,*a]\n---\nx`,
      '.claude/skills/es\u001b[2Jcape/SKILL.md': skill('escape', 'x'),
      'AGENTS.md': `Be kind.\n${'y'.repeat(200_000)}`,
    })
    mkdirSync(join(directory, '.agents/skills/link'), { recursive: true })
    symlinkSync('/etc/passwd', join(directory, '.agents/skills/link/SKILL.md'))
    symlinkSync('../../../../../etc', join(directory, '.claude/skills/out'))
    execFileSync(
      'bash',
      ['-c', `for i in $(seq 10000); do mkdir -p .kiro/skills/s$i; echo x > .kiro/skills/s$i/SKILL.md; done`],
      { cwd: directory },
    )
    commit('evil/repo')
    await addEnvironment('evil', 'evil/repo')
    const { run: ended, system } = await run({ skill: 'fine', config: { environment_id: environments.evil } })
    assert.equal(ended.state, 'SUCCEEDED', JSON.stringify(ended.status_message))
    assert.match(system, /Fine\./)
    const { agents } = await api.json<{ agents: AgentSkill[] }>(
      'GET',
      '/agent?repo=evil/repo&include_malformed_skills=true',
    )
    assert(agents.length <= 501)
    const errors = Object.fromEntries(agents.map(({ name, variants }) => [name, variants[0]?.error]))
    assert.equal(errors.huge, 'It is too large.')
    assert.match(errors.bomb ?? '', /alias/i)
    assert.equal(errors.link, 'It is a symbolic link.')
    assert.equal(errors.fine, undefined)
    assert(!JSON.stringify(agents).includes('root:') && !JSON.stringify(agents).includes('\\u001b'))
  })
})
