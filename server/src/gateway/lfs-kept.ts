import { randomBytes } from 'node:crypto'
import { BUDGETS } from '../budgets/budgets.ts'
import { Holdings } from '../budgets/holdings.ts'
import type { LfsTransfer } from './lfs-transfer.ts'

/** Of all sandboxes of this process. */
const KEPT = new Holdings(BUDGETS.lfs_addresses)
/** Beside its texts. */
const ENTRY_BYTES = 512

/** What a host has allowed a sandbox to transfer, by the id in the gateway's address. The host decides how long its words are. */
export class KeptTransfers {
  readonly #sandbox: string
  readonly #kept = new Map<string, { transfer: LfsTransfer; bytes: number }>()
  readonly #closed: AbortSignal

  constructor(sandbox: string, closed: AbortSignal) {
    this.#sandbox = sandbox
    this.#closed = closed
    closed.addEventListener('abort', () => this.#forgetAll(), { once: true })
  }

  find(id: string): LfsTransfer | undefined {
    return this.#kept.get(id)?.transfer
  }

  /** The sandbox's oldest are forgotten for it. `null`: others have all there is. */
  keep(transfer: LfsTransfer): string | null {
    const { href, header } = transfer.action
    const bytes = ENTRY_BYTES + href.length + JSON.stringify(header).length
    while (!KEPT.take(this.#sandbox, bytes)) {
      const [oldest] = this.#kept.keys()
      if (oldest === undefined) return null
      this.#forget(oldest)
    }
    const id = randomBytes(16).toString('hex')
    this.#kept.set(id, { transfer, bytes })
    if (this.#closed.aborted) this.#forgetAll()
    return id
  }

  #forget(id: string): void {
    const { bytes } = this.#kept.get(id) ?? { bytes: 0 }
    this.#kept.delete(id)
    KEPT.giveBack(this.#sandbox, bytes)
  }

  #forgetAll(): void {
    for (const id of [...this.#kept.keys()]) this.#forget(id)
  }
}
