import type { Refusal } from '../gateway/gateway.ts'
import type { FencedStore } from './fenced-store.ts'

/** Which refusals the log of a run names already, by earlier attempts or by this one. */
export class ToldRefusals {
  readonly #store: FencedStore
  #messages: Promise<Set<string>> | undefined

  constructor(store: FencedStore) {
    this.#store = store
  }

  /**
   * Whether nobody named it before; asked again, somebody did. The log is read with the first question: most attempts are refused
   * nothing, and a read that nobody waits for would end the process when the lease is lost. Throws `LeaseLost`.
   */
  async isNew({ message }: Refusal): Promise<boolean> {
    this.#messages ??= this.#read()
    const messages = await this.#messages
    if (messages.has(message)) return false
    messages.add(message)
    return true
  }

  async #read(): Promise<Set<string>> {
    if (this.#store.lease.attempt === 1) return new Set()
    const history = await this.#store.readHistory()
    return new Set(history.flatMap((event) => (event.type === 'egress.refused' ? [event.data.message] : [])))
  }
}
