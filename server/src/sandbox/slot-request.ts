import { randomBytes } from 'node:crypto'
import { quote } from './sandbox.ts'

/** A command, as a slot takes it. */
export interface SlotCommand {
  script: string
  directory: string
  env: Record<string, string>
  /** The rest of the slot's input is the command's, and the slot ends with it. */
  once: boolean
}

/** What a slot is sent to run a command, and what it will say. */
export interface SlotRequest {
  /** Two lines. The command does not begin before the slot is sent `GO`, which it is when it has said `begin`. */
  text: string
  /** Comes on standard output when the slot has read its request, before anything of the command is run. */
  begin: Buffer
  /** Comes on both outputs behind the command's own, followed by its exit code and a line end. */
  end: Buffer
  once: boolean
}

/** A slot that is sent nothing instead, its input ending, ends without running the command. */
export const GO = 'go\n'
/** Shells read a pipe byte by byte, so beyond this a command of its own is quicker. */
const MAX_BYTES = 16 * 1024
/** Shells differ in what they make of others. */
const PLAIN = /^[\t\n\r\x20-\x7e\u0080-\uffff]*$/
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
/** Names that mean something to a shell that is asked to export them. */
const SPECIAL =
  /^(_|PPID|E?UID|OPT(IND|ARG|ERR)|IFS|GROUPS|FUNCNAME|DIRSTACK|SECONDS|S?RANDOM|LINENO|SHLVL|HISTCMD|SHELLOPTS|(BASH|EPOCH|COMP|runyard_).*)$/
/** Output seldom ends with it, so that next to nothing is held back. */
const MARK = '\x1e'

/** Whether all shells read the text as it is. */
export const isPlain = (text: string): boolean => PLAIN.test(text)

/** Whether a shell exports a variable of that name and does not go by it itself. */
export const isPlainName = (name: string): boolean => NAME.test(name) && !SPECIAL.test(name)

/** `null` for a command that no slot can be given. */
export function makeRequest({ script, directory, env, once }: SlotCommand): SlotRequest | null {
  const exports = Object.entries(env)
  if (!exports.every(([name]) => isPlainName(name))) return null
  if (![script, directory, ...Object.values(env)].every(isPlain)) return null
  const [begin, end] = [randomBytes(16).toString('hex'), randomBytes(16).toString('hex')]
  const line = [
    ...exports.map(([name, value]) => `export ${name}=${quoteLine(value)}`),
    `runyard_go ${quoteLine(directory)} ${quoteLine(script)}`,
  ].join(';')
  const text = `${once ? 'once' : 'loop'} ${end} ${begin}\n${line}\n`
  if (Buffer.byteLength(text) > MAX_BYTES) return null
  return { text, begin: Buffer.from(MARK + begin), end: Buffer.from(MARK + end), once }
}

/** One word of a shell on one line; the slot has a line end as `$1`. */
function quoteLine(text: string): string {
  return quote(text).replaceAll('\n', `'"$1"'`)
}
