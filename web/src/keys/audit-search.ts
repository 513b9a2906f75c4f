import type { ListAuditLogParams } from '@runyard/client'
import { startOfDay, textOf } from '../shell/search-value.ts'

/** What the address of the audit log says. */
export interface AuditSearch {
  /** An operation of the API, or `useSecrets`. */
  action?: string
  /** Id of who did it. */
  who?: string
  /** Id or name of what it was done to. */
  target?: string
  /** Days back. */
  days?: number
}

/** From an address that anybody may have written. */
export function readAuditSearch(search: Record<string, unknown>): AuditSearch {
  const [action, who, target] = [search.action, search.who, search.target].map(textOf)
  const days = Number(search.days)
  return {
    ...(action ? { action } : {}),
    ...(who ? { who } : {}),
    ...(target ? { target } : {}),
    ...(Number.isInteger(days) && days > 0 && days <= 3650 ? { days } : {}),
  }
}

export const toAuditParams = ({ action, who, target, days }: AuditSearch): ListAuditLogParams => ({
  ...(action ? { action } : {}),
  ...(who ? { principal_id: who } : {}),
  ...(target ? { target } : {}),
  ...(days ? { since: startOfDay(days) } : {}),
})
