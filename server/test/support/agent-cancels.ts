/** What runs of agents are in the middle of when they are cancelled. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { TOOLS } from './agent-journeys.ts'
import { obeyAgent } from './agent-model.ts'
import { until } from './cluster.ts'
import { openModelServer } from './model-server.ts'
import { type BackendName, TEST_IMAGE } from './sandbox-backends.ts'
import { scriptedAgent } from './scripted-agent.ts'
import { apiOf, startService } from './service.ts'
import { argumentsOf, findProcesses, processesOf } from './traces.ts'

export const AGENT_CASES = [
  'opencode, stream',
  'opencode, command',
  'qwen, stream',
  'qwen, command',
  'scripted, flood',
] as const
export type AgentCase = (typeof AGENT_CASES)[number]

/** Why a case cannot be tried here; `false` where it can. */
export function whyNotCase(name: AgentCase): string | false {
  if (process.getuid?.() !== 0) return 'without root there is no way to the gateway on every machine'
  const [program = ''] = name.split(', ')
  const is_there = program === 'scripted' || existsSync(`${TOOLS}/node_modules/.bin/${program}`)
  return !is_there && `${program} is not installed in test/long-tools`
}

export interface Cancelled {
  /** Milliseconds from the request to its answer, and to the end of the sandbox's last process. */
  answered_ms: number
  ended_ms: number
}

/** A service whose agents are asked by a scripted model. `cancel` has an agent get into the middle of it, and cancels the run. */
export async function openAgents(sandbox: BackendName) {
  let words = 0
  const model = await openModelServer((request) =>
    obeyAgent(request, (text) =>
      text.includes('TALK')
        ? {
            text: Array(50_000).fill('Word after word. '),
            pace: (chunk) => wait(20).then(() => (words = chunk)),
          }
        : null,
    ),
  )
  const service = await startService({
    sandbox,
    env: {
      RUNYARD_TOOLS_DIR: TOOLS,
      RUNYARD_ACP_AGENTS: JSON.stringify({ scripted: { command: scriptedAgent() } }),
      RUNYARD_DEFAULT_IMAGE: TEST_IMAGE,
      ...{ OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'sk-scripted' },
    },
  })
  const api = apiOf(service)

  /** Resolves when it is in the middle of it. */
  const begin = async (name: AgentCase, marker: string): Promise<string> => {
    const [type = '', what] = name.split(', ')
    words = 0
    const prompt = {
      stream: '$ echo TALK',
      command: `$ setsid sleep ${marker} & sleep ${marker}`,
      flood: 'restless',
    }[what ?? '']
    const run_id = await api.create({ prompt, config: { harness: { type } } })
    const events = async () =>
      (await api.json<{ events: unknown[] }>('GET', `/agent/runs/${run_id}/events?after=100&limit=1`)).events
    await until(
      name,
      async () => {
        if (what === 'stream') return words > 20
        return what === 'command' ? findProcesses(marker).length > 1 : (await events()).length > 0
      },
      120,
      10,
    )
    return run_id
  }

  return {
    async cancel(name: AgentCase, marker: string): Promise<Cancelled> {
      const run_id = await begin(name, marker)
      // What the service runs there afterwards, to keep the work, is none of them.
      const found = sandbox === 'docker' ? findInContainer(run_id) : processesOf(run_id)
      const find = () => [
        ...found.map(Number).filter((pid) => argumentsOf(pid) !== ''),
        ...(name.endsWith('command') ? findProcesses(marker) : []),
      ]
      if (found.length === 0)
        throw new Error('No process of the sandbox was found, so none could be seen to end.')
      const started = performance.now()
      const since = () => performance.now() - started
      const late = setTimeout(() => {
        console.error(`Still there after a second: ${find().map(describe).join('; ') || 'nothing'}`)
      }, 1_000)
      const [answered_ms, ended_ms] = await Promise.all([
        api.json('POST', `/agent/runs/${run_id}/cancel`).then(since),
        until('its end', () => find().length === 0, 60, 5).then(since),
      ])
      clearTimeout(late)
      const { state } = await api.ended(run_id)
      if (state !== 'CANCELLED') throw new Error(`The run is ${state}.`)
      return { answered_ms, ended_ms }
    },
    async close() {
      await service.stop()
      await model.close()
    },
  }
}

function describe(pid: number): string {
  try {
    const [, state = ''] = /^State:\s*(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return `${pid} ${state} ${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').slice(0, 60)}`
  } catch {
    return `${pid} gone`
  }
}

/** Process 1 stays there, and is another user's. */
function findInContainer(run_id: string): string[] {
  const filter = ['--no-trunc', '--quiet', '--filter', `label=runyard.run_id=${run_id}`]
  const id = execFileSync('docker', ['ps', ...filter], { encoding: 'utf8' }).trim()
  const uidOf = (pid: string) => statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid
  return processesOf(id).filter((pid) => uidOf(pid) === 1000)
}
