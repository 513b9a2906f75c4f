import type { FastifyInstance } from 'fastify'
import type { AuditEntry } from '../../contract/audit-log.ts'
import { pageInfo } from '../../contract/page-info.ts'
import { ROUTES } from '../../contract/routes.ts'
import { type AuditRow, listAudit } from '../../store/audit-log.ts'
import type { Services } from '../context.ts'
import { serve } from '../route.ts'

export function serveAuditLog(app: FastifyInstance, services: Services): void {
  serve(app, services, ROUTES.listAuditLog, async ({ query }) => {
    // So that whoever asks sees what this process answered before.
    await services.audit.flush()
    const { entries, next_cursor } = await listAudit(services.store.db, query)
    return { entries: entries.map(viewEntry), page_info: pageInfo(next_cursor) }
  })
}

const viewEntry = ({ occurred_at, entry_id, action, via, ...row }: AuditRow): AuditEntry => ({
  entry_id,
  occurred_at: occurred_at.toISOString(),
  action,
  via,
  ...(Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as Partial<AuditEntry>),
})
