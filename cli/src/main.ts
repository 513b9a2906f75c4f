import { APIError, VERSION } from '@runyard/client'
import { Command, CommanderError } from 'commander'
import { addCommands } from './commands.ts'
import { type CommandProcess, currentProcess, runIn } from './current-process.ts'
import { EXIT, explain } from './failure.ts'
import { endQuietlyOnClosedPipe, reportFailure } from './output.ts'
import { resolveReferences } from './run-id.ts'

/** A line a paragraph: help is as wide as the terminal. */
const EPILOGUE = `
Exit codes:
  0  the run succeeded, or the command did what it was asked
  1  the run failed, the server refused, or changes do not apply cleanly
  2  the command was used wrongly
  3  the run was cancelled
  4  the server cannot be reached
  5  the run is BLOCKED: it waits for a person
  130  stopped watching with Ctrl-C; the run goes on

A run is named by six or more letters of the end of its id, by its beginning, or by @last: the newest run that you started yourself. Environments, schedules, triggers and identities go by name.

Where the server is: --profile, or --base-url and --api-key, then RUNYARD_BASE_URL and RUNYARD_API_KEY, then RUNYARD_PROFILE, then the nearest .runyard/client.json from here upwards, then the login in use (\`runyard login URL\`), then ~/.config/runyard/client.json. \`runyard dev\` writes the client.json files.`

/** Runs one command; sets the `exitCode` of its process. */
export const main = (argv: readonly string[], own: CommandProcess = process): Promise<void> =>
  runIn(own, async () => {
    endQuietlyOnClosedPipe(own)
    let running: Command | undefined
    try {
      const program = await createProgram(argv[2], { can_ask: canAsk(own, argv) })
      program.hook('preAction', (_program, command) => {
        running = command
      })
      await program.parseAsync(argv)
    } catch (error) {
      if (error instanceof CommanderError) {
        // Commander has said it already. Help that was asked for is no error.
        own.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage
        return
      }
      const explanation = explain(await rephrased(error, running))
      reportFailure(explanation)
      own.exitCode = explanation.exit_code
    }
  })

/** Loaded where the service refused something: most commands end without that. */
async function rephrased(error: unknown, command: Command | undefined): Promise<unknown> {
  if (!command || !(error instanceof APIError)) return error
  const { rephrase } = await import('./rephrase.ts')
  // Without what there is, the answer of the service is still worth reading.
  return (await rephrase(error, command).catch(() => null)) ?? error
}

/** The usage line in help always shows required arguments as required. */
const canAsk = ({ stdin, stdout, env }: CommandProcess, argv: readonly string[]): boolean =>
  stdin.isTTY === true &&
  stdout.isTTY === true &&
  env.TERM !== 'dumb' &&
  !argv.some((word) => ['-h', '--help', 'help'].includes(word))

const columnsOf = ({ isTTY, columns }: CommandProcess['stdout']): number =>
  (isTTY ? columns : undefined) ?? 80

const wrapHelp = (text: string, command: Command): string =>
  command.createHelp().boxWrap(text, command.configureOutput().getOutHelpWidth?.() || 80)

/** With the commands that this first word may be about; `can_ask`: a person may choose what they did not name. */
export async function createProgram(word?: string, { can_ask = false } = {}): Promise<Command> {
  const program = new Command('runyard')
    .description('Runs coding agents, and lets you watch, steer and stop them.')
    .version(VERSION, '-V, --version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command')
    // Also in a narrow terminal.
    .configureHelp({ minWidthToWrap: 12 })
    .showHelpAfterError('hint: --help after a command shows how it is used')
    .addHelpText('after', ({ command }) => wrapHelp(EPILOGUE, command))
    .exitOverride()
    .configureOutput({
      writeOut: (text) => currentProcess().stdout.write(text),
      writeErr: (text) => currentProcess().stderr.write(text),
      getOutHelpWidth: () => columnsOf(currentProcess().stdout),
      getErrHelpWidth: () => columnsOf(currentProcess().stderr),
    })
  await addCommands(program, word)
  resolveReferences(program, can_ask)
  return program
}
