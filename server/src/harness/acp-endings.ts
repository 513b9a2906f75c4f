import { stripVTControlCharacters } from 'node:util'
import type { RequestError } from '@agentclientprotocol/sdk'
import type { ErrorCode } from '../contract/error.ts'
import { isRecord } from '../contract/storable-text.ts'
import type { AcpAgent } from './acp-agents.ts'
import type { AgentGone, OddAnswer } from './acp-connection.ts'
import type { Severed } from './acp-stream.ts'
import { clip, type MaskText } from './cut-text.ts'
import type { Outcome } from './harness.ts'
import { judgeAgentWords } from './model-errors.ts'
import { describeTime } from './retries.ts'
import { endSentence } from './sentence.ts'

const MAX_SAID = 1_500
const AUTH_REQUIRED = -32_000
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

const failed = (message: string, error_code?: ErrorCode): Outcome => ({
  state: 'FAILED',
  status_message: { message, ...(error_code && { error_code }), retryable: false },
})

export const refuse = (message: string): Outcome => failed(message, 'integration_not_configured')

export const refuseServers = ({ name }: AcpAgent, refused: string[]): Outcome =>
  failed(
    `The agent ${name} takes no tool servers by HTTP: ${refused.join(', ')}. Give them as commands.`,
    'feature_not_available',
  )

const SEVERED: Record<Severed, string> = {
  input:
    'closed its standard input before it was done, so that it could be told nothing more, and was killed.',
  output:
    'closed its standard output before it was done, so that nothing more could be heard of it, and was killed.',
  message: 'sent a message of more than 32 MiB and was killed.',
}

/** What is told of an agent that cannot be spoken to any more. */
export function describeGone(agent: AcpAgent, { end }: AgentGone, mask: MaskText): Outcome {
  const [program = ''] = agent.command
  if (end?.missing) {
    const how = agent.install
      ? `"runyard agents install ${agent.name}" on the worker's machine installs it for all sandboxes. Else install it with "${agent.install}"`
      : 'Install it'
    return failed(
      `The sandbox has no program "${program}", which the harness ${agent.name} runs. ${how} in the environment's image, or in the folder of RUNYARD_TOOLS_DIR on the worker; docs/agents.md shows both.`,
      'feature_not_available',
    )
  }
  const how = end?.exit?.code ?? end?.exit?.signal
  const what = end?.severed
    ? SEVERED[end.severed]
    : end
      ? `ended${how === undefined ? '' : ` (${how})`} before it was done.`
      : 'did not answer in time.'
  const hint = end?.killed
    ? ` It was ${end.killed} (limits.memory_mb of the environment).`
    : end?.exit?.signal === 'SIGKILL' && !end.severed
      ? ' Its sandbox may have too little memory (limits.memory_mb).'
      : ''
  const said = end?.said ? ` It said: ${quote(end.said, mask)}` : ''
  return {
    state: 'ERROR',
    status_message: {
      message: `The agent ${agent.name} ${what}${hint}${said}`,
      error_code: 'resource_unavailable',
      retryable: true,
    },
  }
}

/** One that lived on in the middle of its turn, and did nothing that could be seen. */
export function describeSilence({ name }: AcpAgent, silence_ms: number): Outcome {
  const what = `The agent ${name} did nothing for ${describeTime(silence_ms)}: it said nothing, called no tool and no model.`
  return {
    state: 'ERROR',
    status_message: {
      message: `${what} Its turn was stopped; a follow-up goes on. RUNYARD_AGENT_SILENCE_SECONDS says how long it may be silent.`,
      error_code: 'resource_unavailable',
      retryable: true,
    },
  }
}

/** One that speaks another protocol, or badly. */
export const describeOdd = ({ name }: AcpAgent, { method }: OddAnswer): Outcome => ({
  state: 'ERROR',
  status_message: {
    message: `The agent ${name} answered ${method} in a way that the protocol does not have. Is it the right program?`,
    error_code: 'resource_unavailable',
    retryable: true,
  },
})

/** What an agent answered in place of an end. */
export function describeError(
  { name }: AcpAgent,
  error: RequestError,
  /** The variable of the key that it has not been given. */
  missing_key: string | undefined,
  mask: MaskText,
): Outcome {
  const told = [error.message, detailOf(error.data)].filter((part) => part !== '').join(': ')
  const message = `The agent ${name} reports: ${endSentence(quote(told, mask))}`
  if (error.code === AUTH_REQUIRED)
    return failed(`${message}${missing_key ? hint(missing_key) : ''}`, 'integration_not_configured')
  const refused = judgeAgentWords(told)
  if (refused) return failed(`${message} ${REFUSED[refused].advice}`, REFUSED[refused].error_code)
  return {
    state: 'ERROR',
    status_message: { message, error_code: 'resource_unavailable', retryable: true },
  }
}

const REFUSED = {
  key: {
    error_code: 'external_authentication_required',
    advice:
      "Its provider refused the key: put a valid one into the environment's secrets, or into the service's settings, then send a follow-up.",
  },
  credit: {
    error_code: 'insufficient_credits',
    advice: "Add credit at its provider, or give the environment another account's key.",
  },
} as const

const hint = (variable: string): string =>
  ` It has no key: set ${variable} for the service, or give it to the environment as a secret.`

/** Its words are for people, whose terminals are not its to write on. */
const quote = (text: string, mask: MaskText): string =>
  clip(stripVTControlCharacters(text).replace(CONTROLS, ''), MAX_SAID, mask)

function detailOf(data: unknown): string {
  if (typeof data === 'string') return data
  if (!isRecord(data)) return ''
  const said = [data.details, data.message, data.error].find((part) => typeof part === 'string')
  return typeof said === 'string' ? said : JSON.stringify(data)
}

/** Why an agent stopped, other than at the end of its turn. */
export function describeStop({ name }: AcpAgent, reason: string): Outcome | null {
  switch (reason) {
    case 'end_turn':
      return null
    case 'max_tokens':
      return failed('The answer was cut at the limit of output tokens. Send a follow-up to continue.')
    case 'max_turn_requests':
      return failed(
        `The agent ${name} reached its limit of steps without finishing. Send a follow-up to continue.`,
      )
    case 'refusal':
      return failed(`The agent ${name} refused to go on.`, 'content_policy_violation')
    default:
      return failed(`The agent ${name} stopped by itself: ${reason}. Send a follow-up to continue.`)
  }
}
