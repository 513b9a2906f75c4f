/** What the built-in agent leaves behind by its tools: long outputs, plans, files, references. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { type ModelServer, openModelServer } from './support/model-server.ts'
import { answerCalls } from './support/scripted-calls.ts'
import { apiOf, startService, type TestService } from './support/service.ts'
import { ofType } from './support/traces.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ'
const SECRET = 'canary-of-an-agent-77c1'

describe('what an agent leaves behind', () => {
  let model: ModelServer
  let service: TestService
  let api: ReturnType<typeof apiOf>
  before(async () => {
    model = await openModelServer(answerCalls, { models: [{ id: 'scripted' }] })
    service = await startService({
      env: {
        ...{ OPENAI_API_KEY: 'a-key', OPENAI_BASE_URL: model.url },
        RUNYARD_DEFAULT_MODEL: 'openai/scripted',
      },
    })
    api = apiOf(service)
  })
  after(async () => {
    await service?.stop()
    await model?.close()
  })

  const play = async (calls: Array<[string, Record<string, unknown>]>, more: object = {}) => {
    const run_id = await api.create({ prompt: JSON.stringify(calls), ...more })
    const run = await api.ended(run_id, 60)
    assert.equal(run.state, 'SUCCEEDED', JSON.stringify(run.status_message))
    const events = await api.events(run_id)
    return { run, events, results: ofType(events, 'tool.result').map(({ data }) => data) }
  }
  const download = async (uid: string) => {
    const { data } = await api.json<{ data: { download_url: string } }>('GET', `/agent/artifacts/${uid}`)
    return (await fetch(data.download_url)).text()
  }

  test('a long output is an artifact as a whole, without the values of secrets', async () => {
    await api.json('PUT', '/agent/secrets/A_TOKEN', { value: SECRET })
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
      ...{ name: randomUUID(), secrets: ['A_TOKEN'] },
    })
    // The second prints so much that the sandbox drops its middle, in the middle of a value.
    const { run, events, results } = await play(
      [
        ['bash', { command: 'seq 1 10000; echo "$A_TOKEN"; seq 1 10000' }],
        ['bash', { command: 'for n in $(seq 100000); do printf %s "$A_TOKEN"; done' }],
        ['bash', { command: 'ls artifacts/tool-output | wc -l' }],
      ],
      { config: { environment_id: uid } },
    )
    assert.match(
      results[0]?.output ?? '',
      /all of it is in \/workspace\/artifacts\/tool-output\/\S+\.txt …\]/,
    )
    assert.equal(results[2]?.output, '2')
    const files = run.artifacts.flatMap((item) => (item.artifact_type === 'FILE' ? [item.data] : []))
    assert.deepEqual(
      files.map(({ filepath, mime_type }) => [/^tool-output\/[\w-]+\.txt$/.test(filepath), mime_type]),
      [
        [true, 'text/plain'],
        [true, 'text/plain'],
      ],
    )
    const texts = await Promise.all(files.map(({ artifact_uid }) => download(artifact_uid)))
    assert(texts.some((text) => text.startsWith('1\n2\n') && text.includes('\n10000\n***\n1\n2\n')))
    const dropped = texts.find((text) => text.startsWith('***'))
    // Up to three characters of a value tell nothing.
    assert.match(
      dropped?.replace(/\*+/g, '*') ?? '',
      /^\*\w{0,3}\n\[… output was dropped here …\]\n\w{0,3}\*$/,
    )
    for (const text of [...texts, JSON.stringify([run, events])])
      for (const piece of [SECRET, SECRET.slice(0, 12), SECRET.slice(-12)]) assert(!text.includes(piece))
  })

  test('a plan takes the place of the one before and is there under one id', async () => {
    const plan = (first: string, second: string): [string, Record<string, unknown>] => [
      'plan',
      {
        steps: [
          { step: 'Read\n# it \u001b[31m', status: first },
          { step: 'Write it', status: second },
        ],
        notes: 'As asked.',
      },
    ]
    const { run, events, results } = await play([
      plan('in_progress', 'pending'),
      ['plan', { steps: [] }],
      plan('done', 'in_progress'),
    ])
    assert.deepEqual(
      results.map(({ is_error }) => is_error),
      [false, true, false],
    )
    assert.deepEqual(
      ofType(events, 'tool.call').map(({ data }) => data.title),
      ['plan: 0 of 2 done, now: Read # it [31m', undefined, 'plan: 1 of 2 done, now: Write it'],
    )
    const made = ofType(events, 'artifact.created').map(({ data }) => [data.artifact_uid, data.title])
    const [item, ...others] = run.artifacts
    assert(item?.artifact_type === 'PLAN' && others.length === 0)
    const uid = item.data.artifact_uid ?? ''
    assert.deepEqual(made, [
      [uid, '0 of 2 done, now: Read # it [31m'],
      [uid, '1 of 2 done, now: Write it'],
    ])
    assert.deepEqual(item.data, {
      ...{ document_uid: uid, artifact_uid: uid, notebook_uid: uid },
      title: '1 of 2 done, now: Write it',
    })
    assert.equal(await download(uid), '# Plan\n\n- [x] Read # it [31m\n- [ ] → Write it\n\nAs asked.')
    const found = await api.json<{ runs: Array<{ run_id: string }> }>('GET', '/agent/runs?artifact_type=PLAN')
    assert(found.runs.some(({ run_id }) => run_id === run.run_id))
  })

  test('a file is attached at once, and is not kept again at the end of the turn', async () => {
    const { run, events, results } = await play([
      [
        'bash',
        {
          command: `mkdir -p sub artifacts; echo a report > sub/r.txt; echo ${PNG} | base64 -d > artifacts/p.png`,
        },
      ],
      ['attach_artifact', { path: 'sub/r.txt', title: 'The\nreport', description: 'Of today.' }],
      ['attach_artifact', { path: '/workspace/artifacts/p.png', screenshot: true, title: 'The page' }],
      ['attach_artifact', { path: 'sub/r.txt', screenshot: true }],
      ['attach_artifact', { path: 'sub/r.txt' }],
      ['attach_artifact', { path: 'sub/r.txt', title: 'The report', description: 'Of today.' }],
    ])
    assert.deepEqual(
      results.slice(1).map(({ output }) => output),
      [
        'Attached /workspace/sub/r.txt (text/plain, 9 bytes).',
        'Attached p.png (image/png, 33 bytes).',
        '/workspace/sub/r.txt is text/plain, not PNG, JPEG or WebP: it can be attached, but not as a screenshot.',
        'Attached /workspace/sub/r.txt (text/plain, 9 bytes).',
        'Attached /workspace/sub/r.txt (text/plain, 9 bytes).',
      ],
    )
    const made = ofType(events, 'artifact.created')
    assert.deepEqual(
      made.map(({ data: { artifact_type, title, description } }) => [artifact_type, title, description]),
      [
        ['FILE', 'The report', 'Of today.'],
        ['SCREENSHOT', 'The page', undefined],
      ],
    )
    const first_result = events.findIndex(
      ({ type, data }) => type === 'tool.result' && data.output?.startsWith('Attached'),
    )
    assert(first_result > events.findIndex(({ type }) => type === 'artifact.created'))
    const [file] = run.artifacts
    assert(file?.artifact_type === 'FILE')
    assert.deepEqual([file.data.title, await download(file.data.artifact_uid)], ['The report', 'a report\n'])
  })

  test('no file from elsewhere is attached, and nothing that is none', async () => {
    const refused = [
      ['/etc/passwd', 'is not in /workspace or /home/agent: copy it there first'],
      ['../etc/passwd', 'is not in /workspace'],
      ['/workspace/../etc/passwd', 'is not in /workspace'],
      ['/workspaces/x', 'is not in /workspace'],
      ['/workspace', 'is not in /workspace'],
      ['link', 'is a symbolic link'],
      ['dir/passwd', '/workspace/dir is a symbolic link'],
      ['pipe', 'is not a regular file'],
      ['sub', 'is a directory'],
      ['gone', 'does not exist'],
      ['file/x', 'is no directory'],
      ['two\nlines', 'control characters'],
      [`${'d/'.repeat(40)}x`, 'more than 32 folders deep'],
    ] as const
    const { run, results } = await play([
      ['bash', { command: 'mkdir sub; touch file; mkfifo pipe; ln -s /etc/passwd link; ln -s /etc dir' }],
      ...refused.map(([path]) => ['attach_artifact', { path }] as [string, Record<string, unknown>]),
      ['bash', { command: 'echo mine > ~/mine' }],
      ['attach_artifact', { path: '/home/agent/mine' }],
    ])
    for (const [at, [path, why]] of refused.entries())
      assert(results[at + 1]?.output?.includes(why), `${path}: ${results[at + 1]?.output}`)
    assert.equal(results.at(-1)?.output, 'Attached /home/agent/mine (text/plain, 5 bytes).')
    assert.equal(run.artifacts.length, 1)
  })

  test('an address is reported once, and only one of the web', async () => {
    const report = (url: string, more: object = {}): [string, Record<string, unknown>] => [
      'report_reference',
      { url, ...more },
    ]
    const refused = [
      'javascript:alert(1)',
      'file:///etc/passwd',
      'https://user:word@example.com/',
      'https://exa\tmple.com/',
      'https://example.com/\u001b[31m',
      `https://example.com/${'x'.repeat(3000)}`,
      'example.com',
    ]
    const { run, events, results } = await play([
      report('https://Tickets.example.com/T-1', { type: 'ticket', title: 'T-1' }),
      report('https://tickets.example.com/T-1', { type: 'ticket', title: 'T-1' }),
      report('https://tickets.example.com/T-1', { type: 'ticket', title: 'T-1: done' }),
      ...refused.map((url) => report(url)),
    ])
    assert.deepEqual(
      results.map(({ is_error }) => is_error),
      [false, false, false, ...refused.map(() => true)],
    )
    const [item] = run.artifacts
    assert.deepEqual(
      [run.artifacts.length, item?.artifact_type, item?.data],
      [
        1,
        'EXTERNAL_REFERENCE',
        { reference_type: 'TICKET', url: 'https://tickets.example.com/T-1', title: 'T-1: done' },
      ],
    )
    const told = ofType(events, 'reference.reported').map(({ data }) => data)
    assert.deepEqual(
      told.map(({ title }) => title),
      ['T-1', 'T-1: done'],
    )
    assert.equal(told[0]?.artifact_uid, told[1]?.artifact_uid)
    const found = await api.json<{ runs: Array<{ run_id: string }> }>(
      'GET',
      '/agent/runs?artifact_type=EXTERNAL_REFERENCE',
    )
    assert.deepEqual(
      found.runs.map(({ run_id }) => run_id),
      [run.run_id],
    )
    const by = async (url: string) => {
      const path = `/agent/runs?reference_url=${encodeURIComponent(url)}`
      const { runs } = await api.json<{ runs: Array<{ run_id: string }> }>('GET', path)
      return runs.map(({ run_id }) => run_id)
    }
    assert.deepEqual(await by('https://TICKETS.example.com:443/T-1/#comment'), [run.run_id])
    assert.deepEqual(await by('https://tickets.example.com/t-1'), [])
  })
})
