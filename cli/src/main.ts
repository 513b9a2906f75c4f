import { VERSION } from '@runyard/client'
import { Command, CommanderError } from 'commander'
import { addAgentCommands } from './commands/agents.ts'
import { addArtifactCommands } from './commands/artifacts.ts'
import { addAuditCommand } from './commands/audit.ts'
import { addChangeCommands } from './commands/changes.ts'
import { addCompletionCommands } from './commands/completion.ts'
import { addConversationCommands } from './commands/conversations.ts'
import { addDevCommand } from './commands/dev.ts'
import { addDoctorCommand } from './commands/doctor.ts'
import { addEnvironmentCommands } from './commands/environments.ts'
import { addForkCommand } from './commands/fork.ts'
import { addGrantCommands } from './commands/grants.ts'
import { addIdentityCommands } from './commands/identities.ts'
import { addKeyCommands } from './commands/keys.ts'
import { addListCommand } from './commands/list.ts'
import { addLogsCommand } from './commands/logs.ts'
import { addModelCommands } from './commands/models.ts'
import { addOpenCommand } from './commands/open.ts'
import { addPoolCommands } from './commands/pools.ts'
import { addPrincipalCommands } from './commands/principals.ts'
import { addPullRequestCommands } from './commands/pull-requests.ts'
import { addRunCommand } from './commands/run.ts'
import { addRunsCommands } from './commands/runs.ts'
import { addScheduleCommands } from './commands/schedules.ts'
import { addSecretCommands } from './commands/secrets.ts'
import { addServiceCommands } from './commands/service.ts'
import { addShareCommand } from './commands/share.ts'
import { addSkillCommands } from './commands/skills.ts'
import { addTriggerCommands } from './commands/triggers.ts'
import { addUsageCommand } from './commands/usage.ts'
import { addWaitCommand } from './commands/wait.ts'
import { addWebhookCommands } from './commands/webhooks.ts'
import { type CommandProcess, currentProcess, runIn } from './current-process.ts'
import { EXIT, explain } from './failure.ts'
import { endQuietlyOnClosedPipe, reportFailure } from './output.ts'
import { resolveRunIds } from './run-id.ts'

/** A line a paragraph: help is as wide as the terminal. */
const EPILOGUE = `
Exit codes:
  0  the run succeeded, or the command did what it was asked
  1  the run failed, the server refused, or changes do not apply cleanly
  2  the command was used wrongly
  3  the run was cancelled
  4  the server cannot be reached
  5  the run is BLOCKED: it waits for a person's answer
  130  stopped watching with Ctrl-C; the run goes on

A run is named by its id, by the beginning of it that no other run has, or by @last: the newest run that you started yourself.

Where the server is: --base-url and --api-key, then RUNYARD_BASE_URL and RUNYARD_API_KEY, then the nearest .runyard/client.json from here upwards, then ~/.config/runyard/client.json. \`runyard dev\` writes both files.`

/** Runs one command; sets the `exitCode` of its process. */
export const main = (argv: readonly string[], own: CommandProcess = process): Promise<void> =>
  runIn(own, async () => {
    endQuietlyOnClosedPipe(own)
    try {
      await createProgram().parseAsync(argv)
    } catch (error) {
      if (error instanceof CommanderError) {
        // Commander has said it already. Help that was asked for is no error.
        own.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage
        return
      }
      const explanation = explain(error)
      reportFailure(explanation)
      own.exitCode = explanation.exit_code
    }
  })

const columnsOf = ({ isTTY, columns }: CommandProcess['stdout']): number =>
  (isTTY ? columns : undefined) ?? 80

const wrapHelp = (text: string, command: Command): string =>
  command.createHelp().boxWrap(text, command.configureOutput().getOutHelpWidth?.() || 80)

export function createProgram(): Command {
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
  program.commandsGroup('Runs:')
  addRunCommand(program)
  addForkCommand(program)
  addListCommand(program)
  addRunsCommands(program)
  addWaitCommand(program)
  addLogsCommand(program)
  addConversationCommands(program)
  addChangeCommands(program)
  addPullRequestCommands(program)
  addOpenCommand(program)
  addShareCommand(program)
  addUsageCommand(program)
  addScheduleCommands(program)
  addTriggerCommands(program)
  program.commandsGroup('What runs use and make:')
  addEnvironmentCommands(program)
  addSecretCommands(program)
  addWebhookCommands(program)
  addSkillCommands(program)
  addModelCommands(program)
  addArtifactCommands(program)
  program.commandsGroup('Who may do what:')
  addIdentityCommands(program)
  addPrincipalCommands(program)
  addPoolCommands(program)
  addGrantCommands(program)
  addAuditCommand(program)
  program.commandsGroup('Server:')
  addDevCommand(program)
  addServiceCommands(program)
  addDoctorCommand(program)
  addAgentCommands(program)
  addKeyCommands(program)
  addCompletionCommands(program)
  resolveRunIds(program)
  return program
}
