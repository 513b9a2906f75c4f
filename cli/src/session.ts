import { Runyard } from '@runyard/client'
import { type Command, Option } from 'commander'
import { fetchClean } from './clean-answer.ts'
import { traceConnection } from './connection.ts'
import { currentProcess } from './current-process.ts'
import { FORMATS, type Format, type Output, openOutput } from './output.ts'
import { noteConnection, type TracedConnection } from './used-connection.ts'

/** What a client command works with. */
export interface Session {
  client: Runyard
  output: Output
  connection: TracedConnection
}

/** The options every client command has. */
export interface ClientOptions {
  output: Format
  raw?: boolean
  baseUrl?: string
  apiKey?: string
  profile?: string
}

export function addClientOptions(command: Command): Command {
  return command
    .addOption(new Option('-o, --output <format>', 'how to print').choices(FORMATS).default('text'))
    .option('--raw', 'keep escape sequences and control characters of agents')
    .option('--base-url <url>', 'address of the server (RUNYARD_BASE_URL)')
    .option('--api-key <key>', 'key for the server (RUNYARD_API_KEY)')
    .option('--profile <name>', 'the login to use (RUNYARD_PROFILE)')
}

export function openSession(options: ClientOptions): Session {
  const own = currentProcess()
  const connection = traceConnection({
    flags: {
      ...(options.baseUrl ? { base_url: options.baseUrl } : {}),
      ...(options.apiKey ? { api_key: options.apiKey } : {}),
      ...(options.profile ? { profile: options.profile } : {}),
    },
    environment: own.env,
    directory: own.cwd(),
  })
  noteConnection(connection)
  // JSON says what the server said; it is made harmless when it is written.
  const is_shown = options.output === 'text' && !options.raw
  return {
    client: new Runyard({
      apiKey: connection.api_key.value,
      baseURL: connection.base_url.value,
      defaultHeaders: { 'x-runyard-source': 'CLI' },
      ...(is_shown ? { fetch: fetchClean } : {}),
    }),
    output: openOutput({ format: options.output, raw: options.raw }),
    connection,
  }
}
