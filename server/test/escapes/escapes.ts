import { readFileSync } from 'node:fs'
import { after, before, describe, type TestContext, test } from 'node:test'
import { whyNoBubblewrap, whyNoDocker } from '../support/machine.ts'
import { LONG } from '../support/once.ts'
import { BUDGETS } from './budgets.ts'
import { Context } from './context.ts'
import { EGRESS } from './egress.ts'
import { FILES } from './files.ts'
import { FREEZES } from './freezes.ts'
import { KERNEL_FILES } from './kernel-files.ts'
import { LOCAL_USER } from './local-user.ts'
import { NETWORK } from './network.ts'
import { OUTLIVING } from './outliving.ts'
import { PRIVILEGE } from './privilege.ts'
import type { Probe, SubjectName } from './probe.ts'
import { REPOSITORIES } from './repositories.ts'
import { REQUESTS } from './requests.ts'
import { RESOURCES } from './resources.ts'
import { SERVICE } from './service.ts'
import { TERMINAL } from './terminal.ts'

export const PROBES: readonly Probe[] = [
  ...FILES,
  ...KERNEL_FILES,
  ...PRIVILEGE,
  ...OUTLIVING,
  ...RESOURCES,
  ...BUDGETS,
  ...NETWORK,
  ...EGRESS,
  ...REPOSITORIES,
  ...SERVICE,
  ...FREEZES,
  ...REQUESTS,
  ...LOCAL_USER,
  ...TERMINAL,
]

/** The first two are set by `npm run test:escapes`: every probe, not only the short ones; those whose ids begin so. */
export const VARIABLES = {
  all: 'RUNYARD_ESCAPES_ALL',
  only: 'RUNYARD_ESCAPES_ONLY',
  /** Set by root where it goes on as an ordinary user. */
  as_user: 'RUNYARD_ESCAPES_AS_USER',
} as const

const PROBE_MS = 180_000

/** Families that need a running service. The short form starts it once, not for every sandbox. */
const NEEDS_SERVICE = /^(repositories|service|local-user|terminal)\./

/** Registers the probes that apply to the subject. A probe that breaks what `docs/security.md` covers fails. */
export function testEscapes(subject: SubjectName): void {
  const uncovered = readUncovered()
  describe(`escapes from ${subject}`, { skip: missing(subject) }, () => {
    let context: Context
    before(async () => {
      context = await Context.open(subject)
    })
    after(() => context?.close())
    for (const probe of chosenProbes(subject))
      test(`${probe.id} (${subject})`, { timeout: PROBE_MS }, async (t) => {
        const { broken, evidence } = await context.attempt(probe)
        t.diagnostic(`${broken ? 'broken' : 'held'}: ${evidence}`)
        if (!broken && subject === 'open') requireShut(t, probe, evidence)
        if (!broken || subject === 'open') return
        const reason = uncovered.find((entry) => entry.id === probe.id && entry.subjects.includes(subject))
        if (!reason) throw new Error(`BROKEN: ${probe.tries}. Seen: ${evidence}`)
        t.skip(`not covered: ${reason.what}`)
      })
  })
}

const firstSubject = (): SubjectName => (process.getuid?.() === 0 ? 'bubblewrap-root' : 'bubblewrap-user')

function chosenProbes(subject: SubjectName): Probe[] {
  const all = process.env[VARIABLES.all] === '1' || LONG
  const only = process.env[VARIABLES.only]?.split(',') ?? ['']
  const serves = subject === (process.env[VARIABLES.as_user] ? 'bubblewrap-root' : firstSubject())
  return PROBES.filter(
    ({ id, short, on }) =>
      (all || (short && (serves || !NEEDS_SERVICE.test(id)))) &&
      (on?.includes(subject) ?? true) &&
      only.some((prefix) => id.startsWith(prefix)),
  )
}

/** A probe that sees nothing where everything is open sees nothing anywhere. */
function requireShut(t: TestContext, probe: Probe, evidence: string): void {
  if (!probe.shut) throw new Error(`The probe cannot break: with all doors open it says "${evidence}".`)
  t.skip(`shut: ${probe.shut}`)
}

/** Why this machine cannot try the subject; false when it can. */
function missing(subject: SubjectName): string | false {
  if (subject === 'open') return false
  if (subject === 'bubblewrap-root' && process.getuid?.() !== 0) return 'needs root'
  return subject === 'docker' ? whyNoDocker() : whyNoBubblewrap()
}

export interface Uncovered {
  id: string
  subjects: SubjectName[]
  what: string
}

/** The rows of the table in `docs/security.md` that says what is not covered. */
export function readUncovered(): Uncovered[] {
  const text = readFileSync(new URL('../../../docs/security.md', import.meta.url), 'utf8')
  const [, section = ''] = text.split(/^## What is not covered$/m)
  return [...section.matchAll(/^\| `([\w.-]+)` \| ([^|]+) \| ([^|]+) \|$/gm)].map(
    ([, id = '', subjects = '', what = '']) => ({
      id,
      subjects: subjects.trim().split(/,\s*/) as SubjectName[],
      what: what.trim(),
    }),
  )
}
