import type { Command } from 'commander'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { formatTable } from '../table.ts'

export function addModelCommands(program: Command): void {
  const group = program.command('model').summary('list models').description('Models that runs can use.')
  addClientOptions(
    group.command('list').alias('ls').description('Lists the models the workers can use now.'),
  ).action(async (options: ClientOptions) => {
    const { client, output } = openSession(options)
    const listed = await client.models.list()
    if (output.format === 'json') return output.json(listed)
    if (output.format === 'ndjson') return listed.models.forEach(output.json)
    if (listed.models.length === 0)
      return output.note('No models. Give the worker a key such as ANTHROPIC_API_KEY.')
    const columns = [{ heading: 'MODEL' }, { heading: 'NAME', flexible: true }, { heading: 'CONTEXT' }]
    const rows = listed.models.map(({ id, display_name, context_window }) => [
      id + (id === listed.default_model_id ? ' (default)' : ''),
      display_name,
      context_window?.toLocaleString('en') ?? '',
    ])
    output.line(formatTable(columns, rows, output.columns()))
  })
}
