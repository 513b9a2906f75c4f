/**
 * How long work goes on after a cancel: in a command, until its last process is gone, one that left its group and session
 * included; in a call of a model, until the model's server sees its connection closed. `node bench/cancels.ts`.
 */
import { loadavg } from 'node:os'
import { until } from '../server/test/support/cluster.ts'
import { markSandboxes } from '../server/test/support/docker-images.ts'
import { whyNoBubblewrap, whyNoDocker } from '../server/test/support/machine.ts'
import { openModelServer } from '../server/test/support/model-server.ts'
import { obey } from '../server/test/support/obedient-model.ts'
import { event, openProviderServer, type ProviderRequest } from '../server/test/support/provider-server.ts'
import { type BackendName, TEST_IMAGE } from '../server/test/support/sandbox-backends.ts'
import { apiOf, shell, startService } from '../server/test/support/service.ts'
import { findProcesses } from '../server/test/support/traces.ts'
import { writeFigures } from './figures.ts'

const TRIES = 100
const SKIPPED = { bubblewrap: whyNoBubblewrap(), docker: whyNoDocker() }

interface Row {
  what: string
  /** Milliseconds from the request to its answer, and to the end of the work, sorted. */
  answered: number[]
  ended: number[]
}

/** The table, as Markdown. */
export async function measureCancels(): Promise<string> {
  const busy = loadavg()[0] ?? 0
  const rows: Row[] = []
  for (const sandbox of ['bubblewrap', 'docker'] as const) {
    if (SKIPPED[sandbox]) continue
    rows.push(...(await inCommands(sandbox)))
  }
  rows.push(await inModelCalls())
  return [
    '| a cancel in | answered, p50 ms | ended, p50 ms | p99 ms | longest ms |',
    '|---|---|---|---|---|',
    ...rows.map(({ what, answered, ended }) => {
      const figures = [quantile(answered, 0.5), quantile(ended, 0.5), quantile(ended, 0.99), ended.at(-1)]
      return `| ${[what, ...figures.map((ms) => (ms ?? Number.NaN).toFixed(1))].join(' | ')} |`
    }),
    '',
    `${TRIES} cancels a row, one at a time, on PGlite; what is looked for is looked for every 2 ms. The load was ${busy.toFixed(1)} before it began. \`node bench/cancels.ts --write\``,
  ].join('\n')
}

async function inCommands(sandbox: BackendName): Promise<Row[]> {
  const removeSandboxes = sandbox === 'docker' ? markSandboxes() : () => undefined
  const model = await openModelServer(obey)
  const service = await startService({
    sandbox,
    env: {
      RUNYARD_DEFAULT_IMAGE: TEST_IMAGE,
      ...{ OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'sk-scripted' },
    },
  })
  const api = apiOf(service)
  const rows: Row[] = []
  const asks = { oz: (command: string) => `$ ${command}`, runbook: shell }
  for (const [type, ask] of Object.entries(asks)) {
    const row: Row = { what: `a command of \`${type}\`, ${sandbox}`, answered: [], ended: [] }
    for (let n = 0; n < TRIES; n += 1) {
      const marker = `7${String(n).padStart(3, '0')}.471`
      const prompt = ask(`setsid sleep ${marker} & sleep ${marker}`)
      const run_id = await api.create({ prompt, config: { harness: { type } } })
      await until('the command', () => findProcesses(marker).length > 1, 60, 10)
      await cancel(api, run_id, row, () => until('its end', () => findProcesses(marker).length === 0, 60, 2))
    }
    rows.push(sort(row))
  }
  await service.stop()
  // They stay for a while, for follow-ups.
  removeSandboxes()
  await model.close()
  return rows
}

async function inModelCalls(): Promise<Row> {
  let begun = Promise.withResolvers<ProviderRequest>()
  const model = await openProviderServer((request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'application/json' })
      return response.end('{"object":"list","data":[{"id":"scripted"}]}')
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    // It says a word, and then goes on thinking.
    response.write(event({ id: '1', choices: [{ index: 0, delta: { role: 'assistant', content: 'Well' } }] }))
    begun.resolve(request)
  })
  const service = await startService({
    env: { OPENAI_BASE_URL: `${model.url}/v1`, OPENAI_API_KEY: 'sk-scripted' },
  })
  const api = apiOf(service)
  const row: Row = { what: 'a call of a model by `oz`', answered: [], ended: [] }
  for (let n = 0; n < TRIES; n += 1) {
    begun = Promise.withResolvers()
    const run_id = await api.create({ prompt: 'Think.', config: { harness: { type: 'oz' } } })
    const { gone } = await begun.promise
    await cancel(api, run_id, row, () => gone)
  }
  await service.stop()
  model.close()
  return sort(row)
}

async function cancel(
  api: ReturnType<typeof apiOf>,
  run_id: string,
  { answered, ended }: Row,
  end: () => Promise<unknown>,
): Promise<void> {
  const started = performance.now()
  const since = () => performance.now() - started
  await Promise.all([
    api.json('POST', `/agent/runs/${run_id}/cancel`).then(() => answered.push(since())),
    end().then(() => ended.push(since())),
  ])
  const { state } = await api.get(run_id)
  if (state !== 'CANCELLED') throw new Error(`The run is ${state}.`)
}

const sort = ({ what, answered, ended }: Row): Row => ({
  what,
  answered: answered.sort((a, b) => a - b),
  ended: ended.sort((a, b) => a - b),
})

const quantile = (sorted: readonly number[], q: number): number =>
  sorted[Math.ceil(sorted.length * q) - 1] ?? Number.NaN

if (import.meta.main) {
  const table = await measureCancels()
  console.log(table)
  if (process.argv.includes('--write')) writeFigures('cancels', table)
  process.exit()
}
