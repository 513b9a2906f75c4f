import type { CreateRunParams } from '@runyard/client'
import { toPythonArguments } from '../samples/python-literal.ts'
import { quoteForShell } from '../samples/shell-word.ts'
import { toTypeScript } from '../samples/typescript-literal.ts'

export type SampleLanguage = 'curl' | 'TypeScript' | 'Python' | 'Command'

/** One request in the four ways to send it. `base_url` ends with a slash. */
export const writeSamples = (request: CreateRunParams, base_url: string): Record<SampleLanguage, string> => ({
  curl: writeCurl(request, base_url),
  TypeScript: writeTypeScript(request),
  Python: writePython(request),
  Command: writeCommand(request),
})

function writeCurl(request: CreateRunParams, base_url: string): string {
  return `curl -sS ${base_url}api/v1/agent/runs \\
  -H "Authorization: Bearer $RUNYARD_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d ${quoteForShell(JSON.stringify(request, null, 2))}`
}

const writeTypeScript = (request: CreateRunParams): string => `import { Runyard } from '@runyard/client'

const client = new Runyard()
const run = await client.runs.createAndWait(${toTypeScript(request)})
console.log(run.state)`

const writePython = (request: CreateRunParams): string => `from runyard import Runyard

client = Runyard()
run = client.runs.create_and_wait(${toPythonArguments([], request)})
print(run.state)`

function writeCommand(request: CreateRunParams): string {
  const { prompt, title, skill, config = {}, budget = {}, replay_of_run_id, fork_of } = request
  const words = [
    ['--replay', replay_of_run_id],
    ['--sequence', fork_of?.sequence],
    ['--env', config.environment_id],
    ['--model', config.model_id],
    ['--harness', config.harness?.type],
    ['--skill', skill],
    ['--title', title],
    ['--max-cost', budget?.max_cost_usd],
    ['--max-tokens', budget?.max_tokens],
    ['--max-minutes', budget?.max_duration_minutes],
  ].flatMap(([option, value]) => (value === undefined ? [] : [`${option} ${quoteForShell(String(value))}`]))
  const start = fork_of ? `runyard fork ${fork_of.run_id}` : 'runyard run'
  return [start, ...words, ...(prompt === undefined ? [] : [quoteForShell(prompt)])].join(' \\\n  ')
}
