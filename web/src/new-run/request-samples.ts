import type { CreateRunParams } from '@runyard/client'
import { toPythonArguments } from '../samples/python-literal.ts'
import { quoteForShell } from '../samples/shell-word.ts'
import { toTypeScript } from '../samples/typescript-literal.ts'
import { writePermission } from './permission-lines.ts'

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
  const { prompt, config = {}, budget = {}, metadata = {}, fork_of } = request
  const words: [option: string, value: string | number | undefined][] = [
    ['--replay', request.replay_of_run_id],
    ['--sequence', fork_of?.sequence],
    ['--env', config.environment_id],
    ...(config.repositories ?? []).map(({ url, local_path, ref }): [string, string] => [
      '--repo',
      `${url ?? local_path}${ref === undefined ? '' : `#${ref}`}`,
    ]),
    ['--model', config.model_id],
    ...(config.fallback_model_ids ?? []).map((id): [string, string] => ['--fallback', id]),
    ['--harness', config.harness?.type],
    ['--reasoning', config.harness?.reasoning_level],
    ['--base-prompt', config.base_prompt],
    ['--host', config.worker_host],
    ['--idle-minutes', config.idle_timeout_minutes],
    ...(config.permissions ?? []).map((rule): [string, string] => ['--permission', writePermission(rule)]),
    ['--identity', request.agent_identity_uid],
    ['--skill', request.skill],
    ['--name', config.name],
    ['--title', request.title],
    ...Object.entries(metadata).map(([key, value]): [string, string] => ['--metadata', `${key}=${value}`]),
    ['--priority', request.priority],
    ['--max-cost', budget?.max_cost_usd],
    ['--max-tokens', budget?.max_tokens],
    ['--max-minutes', budget?.max_duration_minutes],
  ]
  const files: [option: string, value: object | null | undefined][] = [
    ['--mcp', config.mcp_servers],
    ['--output-schema', request.output_schema],
  ]
  const { public_access } = config.session_sharing ?? {}
  const lines = [
    fork_of ? `runyard fork ${fork_of.run_id}` : 'runyard run',
    ...words.flatMap(([option, value]) => (value === undefined ? [] : [writeOption(option, String(value))])),
    ...files.flatMap(([option, value]) => (value ? [`${option} ${fileOf(value)}`] : [])),
    ...(public_access === undefined ? [] : [public_access === 'VIEWER' ? '--public' : '--no-public']),
    ...(request.team === false ? ['--personal'] : []),
    ...(prompt === undefined ? [] : [quoteForShell(prompt)]),
  ]
  return lines.join(' \\\n  ')
}

/** A file that holds it, as bash and zsh have it. */
const fileOf = (value: object): string => `<(echo ${quoteForShell(JSON.stringify(value))})`

/** A value that begins with a dash would be taken for an option. */
const writeOption = (option: string, value: string): string =>
  value.startsWith('-') ? `${option}=${quoteForShell(value)}` : `${option} ${quoteForShell(value)}`
