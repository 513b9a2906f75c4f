import { APIConnectionError, APIError, AuthenticationError, RunyardError } from '@runyard/client'
import { currentProcess } from './current-process.ts'
import { oneLine } from './one-line.ts'
import { tellConnection } from './used-connection.ts'

/** What a command's exit code says; `runyard --help` lists them. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  cancelled: 3,
  unreachable: 4,
  blocked: 5,
  interrupted: 130,
} as const

/** Ends a command with one line, a hint what to do, and an exit code. */
export class CommandFailure extends Error {
  readonly hint: string | undefined
  readonly exit_code: number

  constructor(message: string, options: { hint?: string; exit_code?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.hint = options.hint
    this.exit_code = options.exit_code ?? EXIT.failed
  }
}

export const usageFailure = (message: string, hint?: string): CommandFailure =>
  new CommandFailure(message, { exit_code: EXIT.usage, ...(hint ? { hint } : {}) })

const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** For a server that answers, but with a certificate that this machine does not trust. */
export function certificateHint(error: unknown): string | null {
  for (let at = error; at instanceof Error; at = at.cause) {
    const code = 'code' in at && typeof at.code === 'string' ? at.code : ''
    if (UNTRUSTED.has(code))
      return 'nobody this machine trusts has signed it: name the file of your own authority, or of the certificate itself, in NODE_EXTRA_CA_CERTS'
    if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
      return 'ask for it by a name that is in its certificate: --base-url and RUNYARD_BASE_URL say where it is'
  }
  return null
}

/** How the commands end that run the service: a setting to correct, a database to wait for, anything else. */
const SERVICE_EXITS: Record<string, number> = {
  invalid_request: EXIT.usage,
  resource_unavailable: EXIT.unreachable,
}

function tellMore(status: number, type: string): string {
  const hint = `more about it: ${oneLine(type)}`
  return status === 404 ? withFile(hint, true) : hint
}

/** With the file that says which server is asked; what another server lacks is the file's doing if it took the place of one. */
function withFile(hint: string, only_shadowing = false): string {
  const told = tellConnection(only_shadowing)
  return told ? `${hint}; ${told}` : hint
}

export interface Explanation {
  message: string
  hint?: string
  exit_code: number
}

/** Any error as a line for a person, a hint, and the exit code it ends with. */
export function explain(error: unknown): Explanation {
  if (error instanceof CommandFailure) {
    return { message: error.message, ...(error.hint ? { hint: error.hint } : {}), exit_code: error.exit_code }
  }
  if (error instanceof APIConnectionError) {
    const hint =
      certificateHint(error) ??
      withFile('is it running? `runyard dev` starts one; --base-url and RUNYARD_BASE_URL say where it is')
    return { message: error.message, hint, exit_code: EXIT.unreachable }
  }
  if (error instanceof AuthenticationError) {
    const hint = withFile(
      'give the key of this server with --api-key or RUNYARD_API_KEY; `runyard keys create` makes one',
    )
    return { message: error.message, hint, exit_code: EXIT.failed }
  }
  if (error instanceof APIError) {
    const hint =
      error.status >= 500
        ? `the server's log has it under ${oneLine(error.request_id ?? 'this time')}`
        : error.problem?.type && tellMore(error.status, error.problem.type)
    return { message: error.message, ...(hint ? { hint } : {}), exit_code: EXIT.failed }
  }
  if (error instanceof RunyardError) {
    const what = /key/i.test(error.message)
      ? ['--api-key', 'RUNYARD_API_KEY']
      : ['--base-url', 'RUNYARD_BASE_URL']
    const hint = `check ${what.join(', ')}, or the client.json that \`runyard --help\` names`
    return { message: error.message, hint, exit_code: EXIT.usage }
  }
  if (isServiceError(error)) {
    return { message: error.detail, exit_code: SERVICE_EXITS[error.code] ?? EXIT.failed }
  }
  if (!(error instanceof Error)) return { message: String(error), exit_code: EXIT.failed }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const hint =
    (error.name === 'SandboxFault' ? SANDBOX_HINT : SYSTEM_HINTS[code]) ??
    'this should not happen: please report it with what RUNYARD_LOG=debug adds'
  const stack = currentProcess().env.RUNYARD_LOG === 'debug' && error.stack
  return { message: error.message, hint: stack || hint, exit_code: EXIT.failed }
}

/** A start without a place for runs; the machine or a setting is the reason. */
const SANDBOX_HINT = '`runyard doctor` says what this machine lacks for sandboxes, and what repairs it'

/** What to do about what the system refused; its message names the file. */
const SYSTEM_HINTS: Partial<Record<string, string>> = {
  EACCES: 'check the permissions of this file and of the folders above it',
  EPERM: 'check whose this file is, and who may change it',
  ENOENT: 'check the name, and that its folder is there',
  ENOTDIR: 'a part of this path is a file, not a folder',
  EISDIR: 'name a file, not a folder',
  EROFS: 'this disk is read-only: choose another place',
  ENOSPC: 'the disk is full: free some space',
  EDQUOT: 'your share of the disk is used up: free some space',
  EMFILE: 'too many files are open: raise `ulimit -n`',
  EADDRNOTAVAIL: 'this machine does not have this address: choose another with --host',
}

/** `AppError` by its shape: importing the class would load the service into every command. */
function isServiceError(error: unknown): error is Error & { code: string; detail: string } {
  return error instanceof Error && error.name === 'AppError' && 'detail' in error && 'code' in error
}
