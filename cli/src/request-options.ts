import type { RunAgentRequest } from '@runyard/client'
import { type Command, InvalidArgumentError } from 'commander'
import { type AgentOptions, addAgentOptions, agentConfigOf } from './agent-options.ts'
import { addBudgetOptions, type BudgetOptions, budgetOf } from './budget-options.ts'
import { pair, repeated } from './option-values.ts'
import { addResultOption, type ResultOption, resultOf } from './result-option.ts'

/** What a new run is, besides its prompt and what it is made from. */
export interface RequestOptions extends AgentOptions, BudgetOptions, ResultOption {
  identity?: string
  skill?: string
  name?: string
  title?: string
  metadata?: Record<string, string>
  attach?: string[]
  personal?: boolean
  priority?: number
}

export const addRequestOptions = (command: Command): Command =>
  addBudgetOptions(
    addResultOption(addAgentOptions(command))
      .option('--identity <identity>', 'service account that executes it, of `runyard identity list`')
      .option('--skill <spec>', 'skill to run, such as owner/repo:name')
      .option('-n, --name <name>', 'label for grouping and filtering')
      .option('-t, --title <title>', 'title; default: the first line of the prompt')
      .option('--metadata <key=value>', 'label for filtering; repeat for more', pair)
      .option('-a, --attach <file>', 'file for the agent; repeat for more', repeated)
      .option('--personal', 'yours alone')
      .option('--priority <n>', 'among your own runs that wait: -100 to 100, the higher go first', priority),
  )

function priority(text: string): number {
  const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN
  if (Math.abs(value) <= 100) return value
  throw new InvalidArgumentError('It must be a whole number from -100 to 100.')
}

export async function requestOf(options: RequestOptions): Promise<RunAgentRequest> {
  // Loaded only when needed: the table of media types is large.
  const { readAttachment } = options.attach ? await import('./attachment.ts') : {}
  const config = { ...(options.name ? { name: options.name } : {}), ...(await agentConfigOf(options)) }
  return {
    ...(options.skill ? { skill: options.skill } : {}),
    ...(options.title ? { title: options.title } : {}),
    ...(options.identity ? { agent_identity_uid: options.identity } : {}),
    ...(options.personal ? { team: false } : {}),
    ...(options.priority === undefined ? {} : { priority: options.priority }),
    ...(options.metadata ? { metadata: options.metadata } : {}),
    ...(readAttachment && options.attach ? { attachments: options.attach.map(readAttachment) } : {}),
    ...(Object.keys(config).length > 0 ? { config } : {}),
    ...(await resultOf(options)),
    ...budgetOf(options),
  }
}
