/**
 * How long the processes of an agent's sandbox outlive a cancel: agents as they are published, in the middle of what their model
 * says and of a command, and one that says more than can be stored. `node bench/agent-cancels.ts`.
 */
import { loadavg } from 'node:os'
import { AGENT_CASES, type AgentCase, openAgents, whyNotCase } from '../server/test/support/agent-cancels.ts'
import { markSandboxes } from '../server/test/support/docker-images.ts'
import { whyNoBubblewrap, whyNoDocker } from '../server/test/support/machine.ts'
import { writeFigures } from './figures.ts'

const TRIES = 50
const SKIPPED = { bubblewrap: whyNoBubblewrap, docker: whyNoDocker }
const WHAT: Record<AgentCase, string> = {
  'opencode, stream': 'what the model of `opencode` says',
  'opencode, command': 'a command of `opencode`',
  'qwen, stream': 'what the model of `qwen` says',
  'qwen, command': 'a command of `qwen`',
  'scripted, flood': 'calls of an agent, as fast as it can tell them',
}

/** The table, as Markdown. */
async function measureAgentCancels(sandboxes: ReadonlyArray<keyof typeof SKIPPED>): Promise<string> {
  const busy = loadavg()[0] ?? 0
  const rows: string[] = []
  for (const sandbox of sandboxes) {
    if (SKIPPED[sandbox]()) continue
    const removeSandboxes = sandbox === 'docker' ? markSandboxes() : () => undefined
    const agents = await openAgents(sandbox)
    for (const name of AGENT_CASES.filter((each) => !whyNotCase(each) && (!only || each.includes(only)))) {
      const answered: number[] = []
      const ended: number[] = []
      for (let n = 0; n < TRIES; n += 1) {
        const took = await agents.cancel(name, `7${String(n).padStart(3, '0')}.471`)
        answered.push(took.answered_ms)
        ended.push(took.ended_ms)
        if (took.ended_ms > 1_000)
          console.error(
            `${name}: answered after ${took.answered_ms.toFixed(0)} ms, ended after ${took.ended_ms.toFixed(0)} ms`,
          )
      }
      const figures = [
        quantile(answered, 0.5),
        quantile(ended, 0.5),
        quantile(ended, 0.99),
        quantile(ended, 1),
      ]
      const row = `| ${[`${WHAT[name]}, ${sandbox}`, ...figures.map((ms) => ms.toFixed(1))].join(' | ')} |`
      console.error(row)
      rows.push(row)
    }
    await agents.close()
    removeSandboxes()
  }
  return [
    '| a cancel in the middle of | answered, p50 ms | ended, p50 ms | p99 ms | longest ms |',
    '|---|---|---|---|---|',
    ...rows,
    '',
    `${TRIES} cancels a row, one at a time, on PGlite; the processes of the sandbox are counted every 5 ms. The load was ${busy.toFixed(1)} before it began. \`node bench/agent-cancels.ts --write\``,
  ].join('\n')
}

const quantile = (figures: readonly number[], q: number): number =>
  figures.toSorted((a, b) => a - b)[Math.ceil(figures.length * q) - 1] ?? Number.NaN

const only = process.argv.find((word) => word.startsWith('--only='))?.slice('--only='.length)
const chosen = (['bubblewrap', 'docker'] as const).filter(
  (name) => !process.argv[2]?.match(/^(bubblewrap|docker)$/) || process.argv[2] === name,
)
const table = await measureAgentCancels(chosen)
console.log(table)
if (process.argv.includes('--write')) writeFigures('agent-cancels', table)
process.exit()
