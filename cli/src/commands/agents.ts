import { Argument, type Command } from 'commander'
import { openOutput } from '../output.ts'
import { loadService, settingsOf } from '../role.ts'
import { formatTable } from '../table.ts'

interface AgentOptions {
  dataDir?: string
  json?: boolean
}

const NAMES = ['claude', 'codex', 'gemini', 'goose', 'opencode', 'qwen'] as const

/** Agents are installed on the machine of a worker, for the sandboxes of its runs. */
export function addAgentCommands(program: Command): void {
  const group = program
    .command('agents')
    .summary('install agents for the sandboxes of this machine')
    .description(
      'Programs of agents that runs can ask for as their harness. All sandboxes of this machine have them, read-only.',
    )
  const subcommand = (usage: string, description: string): Command =>
    group
      .command(usage)
      .description(description)
      .option('--data-dir <dir>', 'data directory (RUNYARD_DATA_DIR; default .runyard)')
      .option('--json', 'print JSON')

  subcommand(
    'install',
    'Installs agents with npm, in the versions that this version of Runyard was made with; again: in place of what is there. No script of a package is run.',
  )
    .addArgument(new Argument('<agents...>', 'which').choices(NAMES))
    .action(async (names: Array<(typeof NAMES)[number]>, options: AgentOptions) => {
      const { openAgents } = await loadService()
      const agents = await openAgents(settingsOf(options))
      const output = openOutput({ format: options.json ? 'ndjson' : 'text' })
      for (const name of new Set(names)) {
        if (!options.json) output.line(`Installing ${name} …`)
        const { folder, ...installed } = await agents.install(name)
        if (options.json) output.json(installed)
        else output.line(`${name} ${installed.installed} is in ${output.clean(folder)}.`)
      }
    })

  subcommand('list', 'Lists which agents are installed, and which can be.').action(
    async (options: AgentOptions) => {
      const { openAgents } = await loadService()
      const listed = (await openAgents(settingsOf(options))).list()
      const output = openOutput({ format: options.json ? 'ndjson' : 'text' })
      if (options.json) return listed.forEach(output.json)
      const columns = ['AGENT', 'INSTALLED', 'TO INSTALL'].map((heading) => ({ heading }))
      const rows = listed.map(({ name, version, installed }) => [name, installed ?? '-', version])
      output.line(formatTable(columns, rows, output.columns()))
    },
  )
}
