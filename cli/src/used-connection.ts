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
  const { base_url, api_key, shadowed } = connection
  const is_key = api_key.file === file
  const named = `${file}${shadowed ? `, which takes the place of ${shadowed}` : ''}`
  if (is_key && base_url.file === file)
    return `address and key are from ${named}; delete it if it was left over`
  // Either may be what is wrong.
  const [what, other] = is_key
    ? ['the key', `the address from ${base_url.from}`]
    : ['the address', `the key from ${api_key.from}`]
  return `${what} is from ${named}, and ${other}; delete the file if it was left over`
}
