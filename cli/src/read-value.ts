import { buffer } from 'node:stream/consumers'
import { askHidden } from './ask.ts'
import { currentProcess } from './current-process.ts'
import { CommandFailure, EXIT, usageFailure } from './failure.ts'
import { readNamedFile } from './read-input.ts'

/**
 * A value that nobody should see: from a file (`-`: standard input), else asked for on a terminal, else from standard input.
 * Without the line end that editors and `echo` put at the end.
 */
export async function readValue(question: string, file: string | undefined): Promise<string> {
  const asks = file === undefined && currentProcess().stdin.isTTY === true
  const value = asks ? await askHidden(question) : toText(await readBytes(file ?? '-')).replace(/\r?\n$/, '')
  if (value === null) throw new CommandFailure('Nothing was set.', { exit_code: EXIT.interrupted })
  if (value === '')
    throw usageFailure('The value is empty.', 'give it on standard input, or --value-from FILE')
  return value
}

const readBytes = async (file: string): Promise<Buffer> =>
  file === '-' ? buffer(currentProcess().stdin) : readNamedFile(file)

/** What is no text would be another value without a word about it. */
function toText(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw usageFailure('The value is not text in UTF-8.', 'encode it first, for example with base64')
  }
}
