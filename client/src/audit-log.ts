import { AuditList } from './lists.ts'
import type { ListAuditLogParams } from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

/** `client.auditLog`: who did what, when and from where. For admins. */
export class AuditLog {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * `for await (const entry of auditLog.list())` goes through all pages, newest first; `await auditLog.list()` is the first
   * one, of 100 entries or `limit`.
   */
  list(params: ListAuditLogParams = {}, options?: RequestOptions): AuditList {
    return new AuditList(this.#transport, { path: '/audit-log', query: params }, options)
  }
}
