import type { Keyring } from './sealing/keyring.ts'
import { headOf, seal, unseal } from './sealing/sealing.ts'
import { bindingOf } from './sealing/secret-value.ts'
import type { Db } from './store/db.ts'
import {
  readSealedOtherwise,
  replaceSealed,
  SEALED_KINDS,
  type SealedKind,
  type SealedValue,
} from './store/sealed-values.ts'

/** Held in memory together. */
const BATCH = 50

/** What was sealed again, and what none of the keys opens. */
export interface Resealed {
  secrets: number
  environments: number
  schedules: number
  triggers: number
  runs: number
  webhooks: number
  unreadable: Array<{ kind: SealedKind; id: string }>
}

/**
 * Seals every value with the current key that is sealed with another. Killed, it goes on where it was when it is called again;
 * what is written meanwhile is left as it was written.
 */
export async function resealAll(db: Db, keyring: Keyring): Promise<Resealed> {
  const resealed: Resealed = {
    secrets: 0,
    environments: 0,
    schedules: 0,
    triggers: 0,
    runs: 0,
    webhooks: 0,
    unreadable: [],
  }
  for (const kind of SEALED_KINDS) {
    let pass: Pass
    do {
      pass = await resealOnce(db, keyring, kind)
      resealed[kind] += pass.done
      // Whoever changed a value may have sealed it with another key.
    } while (pass.changed)
    resealed.unreadable.push(...pass.unreadable.map((id) => ({ kind, id })))
  }
  return resealed
}

interface Pass {
  done: number
  unreadable: string[]
  /** Values were replaced by others while they were sealed again. */
  changed: boolean
}

async function resealOnce(db: Db, keyring: Keyring, kind: SealedKind): Promise<Pass> {
  const pass: Pass = { done: 0, unreadable: [], changed: false }
  const head = headOf(keyring.current)
  for (let after: string | null = null; ; ) {
    const values: SealedValue[] = await readSealedOtherwise(db, kind, { head, after, limit: BATCH })
    for (const value of values) {
      const by = sealAgain(keyring, value)
      if (!by) pass.unreadable.push(value.id)
      else if (await replaceSealed(db, kind, value, by)) pass.done += 1
      else pass.changed = true
    }
    const last = values.at(-1)
    if (!last) return pass
    after = last.id
  }
}

function sealAgain(keyring: Keyring, { id, sealed, secret }: SealedValue): Buffer | null {
  const place = secret ? bindingOf(secret) : id
  try {
    return seal(keyring, place, unseal(keyring, place, sealed))
  } catch {
    return null
  }
}
