import { hash } from 'node:crypto'

/** A text is worth a name when it comes again. */
const USES = 3
/** The server keeps each name's plan in every session. */
const MOST_NAMES = 200
const MOST_COUNTED = 2_000
/** Below the 63 bytes that the server keeps of a name. */
const LENGTH = 40

/**
 * Which statements are prepared by name. PostgreSQL parses and plans a named one once a connection, which for a create costs
 * as much as carrying it out. The name is made of the text: two processes behind one pooler can only mean the same by it.
 */
export class StatementNames {
  readonly #names = new Map<string, string>()
  readonly #uses = new Map<string, number>()

  /** Of a text that was used before; absent for one that is new, or one too many. */
  find(text: string): string | undefined {
    const known = this.#names.get(text)
    if (known || this.#names.size >= MOST_NAMES) return known
    const uses = (this.#uses.get(text) ?? 0) + 1
    if (uses < USES) {
      if (this.#uses.size >= MOST_COUNTED) this.#uses.clear()
      this.#uses.set(text, uses)
      return undefined
    }
    this.#uses.delete(text)
    const name = `ry_${hash('sha1', text, 'hex')}`.slice(0, LENGTH)
    this.#names.set(text, name)
    return name
  }
}

/**
 * The name stands for something else than when it was prepared, or for nothing: a migration changed a table, or a pooler
 * swapped the session. It is said before anything is carried out.
 */
export function isStaleName(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, routine } = error as { code?: unknown; routine?: unknown }
  return code === '26000' || code === '42P05' || (code === '0A000' && routine === 'RevalidateCachedQuery')
}
