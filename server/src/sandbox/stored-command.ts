import { randomUUID } from 'node:crypto'
import { collectExec, type ExecHandle, type ExecOptions, quote, SandboxFault } from './sandbox.ts'
import { isPlain, isPlainName, type SlotCommand } from './slot-request.ts'

/** Characters of variables that a slot is told with the command itself. */
const MAX_VARIABLES = 4 * 1024

/**
 * Stores what no slot can be told of a command, its script when it is long, and variables that mean something to a shell, in a
 * file of the sandbox, and returns the command that reads it. `exec` runs commands of the sandbox. Throws `SandboxFault`.
 */
export async function storeCommand(
  command: SlotCommand,
  exec: (options: ExecOptions) => ExecHandle,
): Promise<SlotCommand> {
  const path = `/tmp/.runyard-${randomUUID()}`
  const { script, env } = command
  const entries = Object.entries(env)
  const is_long = entries.reduce((bytes, [, value]) => bytes + value.length, 0) > MAX_VARIABLES
  const goes = (value: string) => !is_long && isPlain(value)
  const plain = entries.filter(([name, value]) => isPlainName(name) && goes(value))
  const printed = entries.filter(([name, value]) => isPlainName(name) && !goes(value))
  // A shell that exports these itself would go by them.
  const special = entries.filter(([name]) => !isPlainName(name))
  const exports = printed.map(
    ([name, value]) => `${name}=$(printf '%b' '${octal(value)}x'); export ${name}="\${${name}%x}"`,
  )
  const words = special.map(([name, value]) => quote(`${name}=${value}`)).join(' ')
  const text = `rm -f ${path}\n${script}\n`
  await write(path, text, exec)
  const source = `. ${path}`
  if (special.length === 0 && printed.length === 0) return { ...command, script: source, env }
  const before = `${path}.variables`
  const become = special.length === 0 ? source : `exec env ${words} "$SHELL" -c ${quote(source)}`
  await write(before, [`rm -f ${before}`, ...exports, become, ''].join('\n'), exec)
  return { ...command, script: `. ${before}`, env: Object.fromEntries(plain) }
}

async function write(path: string, text: string, exec: (options: ExecOptions) => ExecHandle): Promise<void> {
  const { exit } = await collectExec(exec({ command: `umask 077; cat > ${path}`, cwd: '/', stdin: text }))
  if (exit.code !== 0) throw new SandboxFault('the command is too long to be stored')
}

/** As `printf %b` reads bytes. */
const octal = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `\\0${byte.toString(8).padStart(3, '0')}`).join('')
