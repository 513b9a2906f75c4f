import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { findChromium, openTab } from '../../server/test/support/browser.ts'
import { LONG, onlyLong } from '../../server/test/support/once.ts'
import type { Outcome } from './behaviour.ts'
import { type FaultProcess, startFaultServer } from './fault-process.ts'
import { type Consumer, createConsumer } from './runtimes/consumer.ts'
import { runTool } from './runtimes/run-tool.ts'
import { missing, type Tool, toolPath } from './runtimes/tools.ts'
import { startWorker } from './runtimes/workerd.ts'

const POLYFILLS = ['undici', 'node-fetch']

suite('the library as it is published', { skip: missing('esbuild') }, () => {
  let consumer: Consumer
  let faults: FaultProcess

  before(async () => {
    consumer = await createConsumer(POLYFILLS)
    // First each program without the library, then those that cannot import it with the one that the project installed.
    const external = ['--external:@runyard/client', '--external:node:*']
    const whole = LONG ? ['worker', 'page'] : ['page']
    for (const name of ['program', 'polyfill', ...whole])
      await bundle(fileURLToPath(new URL(`runtimes/${name}.ts`, import.meta.url)), `${name}.js`, external)
    for (const name of whole) await bundle(`${name}.js`, `${name}.js`, ['--allow-overwrite'])
    faults = await startFaultServer(join(consumer.folder, 'page.js'))
  })
  after(async () => {
    await faults?.stop()
    consumer?.remove()
  })

  async function bundle(from: string, to: string, options: readonly string[]): Promise<void> {
    const args = [toolPath('esbuild'), from, '--bundle', '--format=esm', '--target=es2022', `--outfile=${to}`]
    const { code, stderr } = await runTool(process.execPath, [...args, ...options], { cwd: consumer.folder })
    assert.equal(code, 0, stderr)
  }

  async function runProgram(command: string, args: readonly string[]): Promise<unknown> {
    const { code, stdout, stderr } = await runTool(command, args, { cwd: consumer.folder })
    assert.equal(code, 0, stderr)
    return JSON.parse(stdout)
  }

  const runtimes: Record<string, { tool: Tool; args: readonly string[] }> = {
    'Node 20': { tool: 'node20', args: ['program.js', '%url', 'node'] },
  }
  const more: typeof runtimes = {
    'Node 26': { tool: 'node26', args: ['program.js', '%url', 'node'] },
    Deno: {
      tool: 'deno',
      args: ['run', '--no-remote', '--allow-net', '--allow-env', 'program.js', '%url', 'deno'],
    },
    Bun: { tool: 'bun', args: ['program.js', '%url', 'bun'] },
  }
  if (LONG) Object.assign(runtimes, more)
  for (const [name, { tool, args }] of Object.entries(runtimes)) {
    test(`behaves on ${name}`, { skip: missing(tool) }, async () => {
      const filled = args.map((arg) => (arg === '%url' ? faults.url : arg))
      assertAllPassed(await runProgram(toolPath(tool), filled))
    })
  }

  onlyLong('behaves on workerd', { skip: missing('workerd') }, async () => {
    const worker = await startWorker(consumer.folder)
    try {
      const answer = await fetch(`${worker.url}/?url=${encodeURIComponent(faults.url)}`)
      assertAllPassed(await answer.json())
    } finally {
      await worker.stop()
    }
  })

  // With `npm test` the web page shows it there.
  onlyLong('behaves in Chromium', { skip: findChromium() ? false : 'without Chromium' }, async () => {
    await using tab = await openTab()
    await tab.page.goto(`${faults.url}/page`)
    assertAllPassed(await tab.page.evaluate(() => Reflect.get(globalThis, 'outcomes')))
  })

  for (const module of POLYFILLS) {
    for (const tool of LONG ? (['node20', 'node26'] as const) : (['node20'] as const)) {
      test(`takes the fetch of ${module} on ${tool}`, { skip: missing(tool) }, async () => {
        const addresses = {
          create: await faults.script([
            { problem: { status: 503, code: 'unavailable' } },
            { json: { run_id: 'r1' } },
          ]),
          list: await faults.script([{ pages: { count: 45 } }]),
          stream: await faults.script([
            {
              events: [
                { sequence: 1, type: 'run.queued', data: {} },
                { sequence: 2, type: 'run.ended', data: {} },
                { end: true },
              ],
            },
          ]),
          missing: await faults.script([{ problem: { status: 404, code: 'resource_not_found' } }]),
        }
        assert.deepEqual(
          await runProgram(toolPath(tool), ['polyfill.js', module, JSON.stringify(addresses)]),
          { created: 'r1', listed: 45, streamed: ['run.queued', 'run.ended'], refused: 'What happened.' },
        )
      })
    }
  }
})

function assertAllPassed(answer: unknown): void {
  const outcomes = answer as Outcome[]
  assert(outcomes.length > 0, 'No case was run.')
  const failed = outcomes.filter(({ ok }) => !ok)
  assert.equal(
    failed.length,
    0,
    `${failed.length} of ${outcomes.length} failed:\n${failed.map(({ name, message }) => `- ${name}: ${message}`).join('\n')}`,
  )
}
