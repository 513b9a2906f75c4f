import type { Context } from './context.ts'

/** Where probes run: the backends as they are used, and `open`, the host backend, where all doors stand open. */
export const SUBJECTS = ['bubblewrap-root', 'bubblewrap-user', 'docker'] as const
export type SubjectName = (typeof SUBJECTS)[number] | 'open'

/** One attempt at something an attacker must not reach. */
export interface Probe {
  /** `family.name`; `docs/security.md` names what is not covered by it. */
  id: string
  /** What the attacker tries, as a sentence without a subject. */
  tries: string
  /** Runs in `npm test` too: quick, and worth it. */
  short?: true
  /** Where it makes sense; absent: everywhere. */
  on?: readonly SubjectName[]
  /** Why the attempt fails even with all doors open, so that `--open` does not expect it to succeed there. */
  shut?: string
  /**
   * Makes the attempt and says how it went. Throws when it could not be made (a tool is missing inside, say), which is a
   * failure of the probe: nothing was shown.
   */
  run(context: Context): Promise<Verdict>
}

export interface Verdict {
  broken: boolean
  /** What was seen, short enough for one line. */
  evidence: string
}

export const held = (evidence: string): Verdict => ({ broken: false, evidence })
export const broken = (evidence: string): Verdict => ({ broken: true, evidence })

/** Broken when `found` is not empty; `otherwise` says what was seen when it is. */
export const brokenBy = (found: readonly string[], otherwise: string): Verdict =>
  found.length > 0 ? broken(found.join(', ')) : held(otherwise)

/** Probes of the service that its sandbox has a part in. */
export const SANDBOXED = ['bubblewrap-root', 'bubblewrap-user', 'docker', 'open'] as const
/** What does not depend on the sandbox is asked once. */
export const ONCE = ['bubblewrap-root', 'open'] as const
export const NO_DOOR = 'the owner of the service has no way around it either'
