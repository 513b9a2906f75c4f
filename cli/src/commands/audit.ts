import type { AuditEntry } from '@runyard/client'
import type { Command } from 'commander'
import { moment, wholeNumber } from '../option-values.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { formatTable } from '../table.ts'

interface AuditOptions extends ClientOptions {
  principal?: string
  action?: string
  target?: string
  since?: Date
  until?: Date
  limit: number
}

export function addAuditCommand(program: Command): void {
  addClientOptions(
    program
      .command('audit')
      .summary('who did what, when and from where')
      .description('Shows the audit log, newest first: writes, denials, links, uses of secrets. For admins.')
      .option('--principal <principal>', 'of this user or identity')
      .option('--action <name>', 'of this operation, such as createRun')
      .option('--target <id>', 'about this run, key, secret …')
      .option('--since <time>', 'from then on: 2026-01-31, or 24h for a day ago', moment)
      .option('--until <time>', 'before then', moment)
      .option('--limit <number>', 'how many entries', wholeNumber(1, 100_000), 100),
  ).action(async ({ principal, action, target, since, until, limit, ...options }: AuditOptions) => {
    const { client, output } = openSession(options)
    const entries: AuditEntry[] = []
    const params = { principal_id: principal, action, target, since, until, limit: Math.min(limit, 500) }
    for await (const entry of client.auditLog.list(params)) {
      entries.push(entry)
      if (entries.length >= limit) break
    }
    if (output.format === 'json') return output.json({ entries })
    if (output.format === 'ndjson') return entries.forEach(output.json)
    if (entries.length === 0) return output.note('No entries.')
    const columns = [
      ...['TIME', 'WHO', 'ROLE', 'ACTION', 'STATUS', 'FROM'].map((heading) => ({ heading })),
      { heading: 'TARGET', flexible: true },
    ]
    const rows = entries.map((entry) => [
      entry.occurred_at,
      entry.principal_name ??
        entry.principal_id ??
        (entry.via === 'command_line' ? 'this machine' : 'nobody'),
      entry.role ?? '',
      entry.action,
      entry.status === undefined ? '' : String(entry.status),
      entry.address ?? entry.via,
      [entry.target, entry.detail].filter(Boolean).join(': '),
    ])
    output.line(formatTable(columns, rows, output.columns()))
  })
}
