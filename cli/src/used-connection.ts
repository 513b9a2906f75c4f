import { currentProcess } from './current-process.ts'

/** A part of a connection, and the flag, variable or file that it is from. */
export interface Traced {
  value: string
  from: string
  /** It is from this file. */
  file?: string
}

export interface TracedConnection {
  base_url: Traced
  api_key: Traced
  /** The user's own file, which another one nearer by has taken the place of. */
  shadowed?: string
}

/** What each command has used, for its errors: tests run many in one process. */
const used = new WeakMap<object, TracedConnection>()

export const noteConnection = (connection: TracedConnection): void => {
  used.set(currentProcess(), connection)
}

/** A hint where a file decided which server is asked, or with which key: nobody remembers one that was left in a folder. */
export function tellConnection(only_shadowing: boolean): string | null {
  const connection = used.get(currentProcess())
  const file = connection?.api_key.file ?? connection?.base_url.file
  if (!connection || file === undefined || (only_shadowing && !connection.shadowed)) return null
  const is_address = connection.base_url.file === file
  const is_key = connection.api_key.file === file
  const what = is_address && is_key ? 'address and key are' : is_key ? 'the key is' : 'the address is'
  const other = connection.shadowed ? `, which takes the place of ${connection.shadowed}` : ''
  return `${what} from ${file}${other}; delete it if it was left over`
}
