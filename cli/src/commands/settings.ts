import type { Command } from 'commander'
import { oneLine } from '../one-line.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { formatTable } from '../table.ts'

export function addSettingsCommand(program: Command): void {
  addClientOptions(
    program
      .command('settings')
      .summary("show the server's settings")
      .description(
        "Shows the settings of the server that answers: what is set, from where, and what it does. Secrets' values are never shown. For admins.",
      )
      .option('--set', 'only those that are set'),
  ).action(async ({ set = false, ...options }: ClientOptions & { set?: boolean }) => {
    const { client, output } = openSession(options)
    const { version, settings } = await client.settings.list()
    const shown = settings.filter(({ is_set }) => is_set || !set)
    if (output.format === 'json') return output.json({ version, settings: shown })
    if (output.format === 'ndjson') return shown.forEach(output.json)
    if (shown.length === 0) return output.note('Nothing is set: all settings have their defaults.')
    const rows = shown.map((setting) => [
      setting.name,
      setting.source,
      oneLine(setting.value ?? (setting.is_set ? 'set' : setting.default || 'not set')),
      oneLine(setting.meaning),
    ])
    const headings = ['NAME', 'FROM', 'VALUE', 'WHAT IT DOES']
    output.line(
      formatTable(
        headings.map((heading) => ({ heading, flexible: heading === 'WHAT IT DOES' })),
        rows,
        output.columns(),
      ),
    )
  })
}
