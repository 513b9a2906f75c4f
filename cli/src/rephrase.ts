import { BadRequestError, NotFoundError } from '@runyard/client'
import type { Command } from 'commander'
import { CommandFailure, EXIT } from './failure.ts'
import { suggestEnvironment } from './reference.ts'
import { type ClientOptions, openSession } from './session.ts'

/** The flags that say what fields of requests say. */
const FLAGS: Record<string, string> = {
  environment_id: '--env',
  model_id: '--model',
  fallback_model_ids: '--fallback',
  'harness.type': '--harness',
  'harness.reasoning_level': '--reasoning',
  worker_host: '--host',
  idle_timeout_minutes: '--idle-minutes',
  base_prompt: '--base-prompt',
  mcp_servers: '--mcp',
  permissions: '--permission',
  repositories: '--repo',
  name: '--name',
  agent_identity_uid: '--identity',
  agent_uid: '--identity',
  skill: '--skill',
  skill_spec: '--skill',
  cron_schedule: '--cron',
  time_zone: '--time-zone',
  'budget.max_cost_usd': '--max-cost',
  'budget.max_tokens': '--max-tokens',
  'budget.max_duration_minutes': '--max-minutes',
  output_schema: '--output-schema',
  metadata: '--metadata',
  attachments: '--attach',
  team: '--personal',
  priority: '--priority',
  title: '--title',
  replay_of_run_id: '--replay',
  docker_image: '--image',
  setup_commands: '--setup',
  variables: '--variable',
  secrets: '--secret',
  push_branches: '--push-branch',
  allowed_hosts: '--allow-host',
  on_success: '--on-success',
  merge_method: '--merge-method',
  egress: '--egress',
  filter: '--filter',
  from: '--since',
  to: '--until',
}

/** What the service refused in the words of this command; what it does not know is listed. Null: as the service said it. */
export async function rephrase(error: unknown, command: Command): Promise<CommandFailure | null> {
  if (!(error instanceof BadRequestError || error instanceof NotFoundError)) return null
  const environment = namedEnvironment(command)
  if (environment !== null && /there is no environment with this/i.test(error.message)) {
    const { client } = openSession(command.opts<ClientOptions>())
    return new CommandFailure(`There is no environment ${JSON.stringify(environment)}.`, {
      hint: await suggestEnvironment(client, environment),
      exit_code: EXIT.failed,
      cause: error,
    })
  }
  const message = nameFlags(error.message, command)
  return message === error.message ? null : new CommandFailure(message, { cause: error })
}

/** `config.model_id: …` as `--model: …`, where the command has such a flag. */
export function nameFlags(message: string, { options }: Pick<Command, 'options'>): string {
  const known = new Set(options.map(({ long }) => long))
  return message.replace(
    /(^|[;.] )((?:[a-z_]+\.)*[a-z_]+)((?:\.\d+)?): /g,
    (whole, before: string, path: string) => {
      const flag = FLAGS[path.replace(/^(?:config|agent_config)\./, '')]
      return flag !== undefined && known.has(flag) ? `${before}${flag}: ` : whole
    },
  )
}

/** The environment that was given to the command, as an option or an argument. */
function namedEnvironment(command: Command): string | null {
  const { env } = command.opts<{ env?: unknown }>()
  if (typeof env === 'string') return env
  const at = command.registeredArguments.findIndex((argument) => argument.name() === 'environment')
  const given: unknown = at < 0 ? undefined : command.processedArgs[at]
  return typeof given === 'string' ? given : null
}
