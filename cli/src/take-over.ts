import type { RunDiff } from '@runyard/client'
import { formatStat } from './change-stat.ts'
import { type AppliedPatch, Checkout, type Plan } from './checkout.ts'
import { currentProcess } from './current-process.ts'
import { readArtifact } from './download.ts'
import { CommandFailure, usageFailure } from './failure.ts'
import { oneLine } from './one-line.ts'
import type { Output } from './output.ts'
import { isOfSeveral, partBelow, unknownRepository } from './patch.ts'
import { type DiffOptions, fetchDiff } from './run-diff.ts'
import type { Session } from './session.ts'

export interface TakeOverOptions extends DiffOptions {
  dryRun?: boolean
  allowDirty?: boolean
  repository?: string
}

/** What `-o json` prints. */
interface TakenOver {
  /** The checkout was changed. */
  applied: boolean
  outcome: 'applied' | 'conflicts' | 'would_apply' | 'would_conflict' | 'applied_already' | 'nothing'
  run_id: string
  turn: number
  checkout: string
  repository: string | null
  files_changed: number
  additions: number
  deletions: number
  conflicts: string[]
  notes: string[]
}

const COMMIT = /^[0-9a-f]{40,64}$/

type Outcome = TakenOver['outcome']
type Changing = Extract<Plan, { files: unknown }>

/** Takes the changes of a run over into the git checkout of this directory. What cannot be done throws. */
export async function takeOver(session: Session, run_id: string, options: TakeOverOptions): Promise<void> {
  const checkout = await Checkout.find(currentProcess().cwd())
  const diff = await fetchDiff(session.client, run_id, options, session.output)
  const repository = diff.patch ? chooseRepository(diff, checkout, options.repository) : null
  await new TakeOver(session.output, checkout, diff, repository).run(options)
}

class TakeOver {
  readonly #output: Output
  readonly #checkout: Checkout
  readonly #diff: RunDiff
  readonly #repository: string | null

  constructor(output: Output, checkout: Checkout, diff: RunDiff, repository: string | null) {
    this.#output = output
    this.#checkout = checkout
    this.#diff = diff
    this.#repository = repository
  }

  async run({ dryRun, allowDirty }: TakeOverOptions): Promise<void> {
    const checkout = this.#checkout
    const applied = await this.#readPatch()
    if (!applied) return this.#report('nothing')
    if ((await checkout.listConflicts()).length > 0)
      throw usageFailure('This checkout has conflicts already.', 'settle them first; `git status` lists them')
    const plan = await checkout.plan(applied)
    if (plan.outcome === 'applied already') {
      this.#say('The changes are here already. Nothing was done.')
      return this.#report('applied_already')
    }
    const uncommitted = await checkout.listUncommitted()
    if (uncommitted.length > 0 && !allowDirty) throw dirty(uncommitted)
    if (plan.outcome === 'refused') throw await this.#refused(plan)
    if (dryRun) return this.#foretell(plan)
    const conflicts = await checkout.apply(applied)
    const was_clean = uncommitted.length === 0
    if (conflicts.length === 0) this.#tellApplied(plan, was_clean)
    else await this.#tellConflicts(plan, conflicts, was_clean)
  }

  /** null, and said so: there is nothing in it. */
  async #readPatch(): Promise<AppliedPatch | null> {
    const { patch: artifact } = this.#diff
    if (!artifact) return null
    const whole = await readArtifact(artifact)
    const several = isOfSeveral(this.#diff)
    const patch = several && this.#repository ? partBelow(whole, this.#repository) : whole
    if (patch.length > 0) return { patch, strip: several ? 2 : 1 }
    const where = several ? ` in ${this.#repository}` : ''
    this.#output.note(`There are no changes${where} that could be applied.`)
    return null
  }

  #foretell(plan: Changing): void {
    const { conflicts } = plan
    this.#showStat(plan)
    this.#report(conflicts.length > 0 ? 'would_conflict' : 'would_apply', { ...countsOf(plan), conflicts })
    if (conflicts.length === 0) {
      this.#say('The changes would apply cleanly. Nothing was done.')
      return
    }
    this.#say(listOf(conflicts.map(oneLine)))
    throw new CommandFailure(`${countFiles(conflicts)} would have conflicts. Nothing was done.`, {
      hint: 'without --dry-run they get conflict markers, and the rest is applied',
    })
  }

  #tellApplied(plan: Changing, was_clean: boolean): void {
    const { colors, note } = this.#output
    this.#showStat(plan)
    this.#report('applied', { applied: true, ...countsOf(plan) })
    this.#say(`${colors.green('✓')} Applied and staged in ${oneLine(this.#checkout.top)}`)
    note(colors.dim(`To undo: ${was_clean ? 'git reset --hard' : reversal(this.#diff, this.#repository)}`))
  }

  async #tellConflicts(plan: Changing, conflicts: string[], was_clean: boolean): Promise<never> {
    this.#showStat(plan)
    this.#report('conflicts', { applied: true, ...countsOf(plan), conflicts })
    const marked = await Promise.all(conflicts.map((file) => this.#checkout.hasMarkers(file)))
    const lines = conflicts.map(
      (file, at) => oneLine(file) + (marked[at] ? '' : ' (no markers: yours was kept)'),
    )
    this.#say(listOf(lines))
    const undo = was_clean
      ? '`git reset --hard` takes everything back'
      : '`git checkout --ours FILE` has one as you had it'
    const have = conflicts.length === 1 ? 'has' : 'have'
    throw new CommandFailure(`${countFiles(conflicts)} ${have} conflicts. The rest is staged.`, {
      hint: `edit what stands between <<<<<<< and >>>>>>>, then \`git add\` the files; ${undo}`,
    })
  }

  async #refused({ reason, is_in_the_way }: Extract<Plan, { reason: string }>): Promise<CommandFailure> {
    const { repositories } = this.#diff
    const base = repositories.find(({ directory }) => directory === this.#repository)?.base_commit
    // The server's words, which are to be no option of git's.
    const is_elsewhere = base && COMMIT.test(base) && !(await this.#checkout.hasCommit(base))
    const hint = is_in_the_way
      ? 'the changes are about these files, too: commit them or put them away first'
      : is_elsewhere
        ? `this checkout does not have the commit that the run began with, ${base.slice(0, 12)}: fetch it, or change to the right checkout`
        : 'check that this is the right checkout; `runyard diff` shows the changes'
    return new CommandFailure(`The changes do not apply here: ${reason}. Nothing was done.`, { hint })
  }

  #report(outcome: Outcome, made: Partial<TakenOver> = {}): void {
    if (this.#output.format === 'text') return
    const { run_id, turn, notes } = this.#diff
    this.#output.json({
      ...{ applied: false, outcome, run_id, turn },
      ...{ checkout: this.#checkout.top, repository: this.#repository },
      ...{ files_changed: 0, additions: 0, deletions: 0, conflicts: [], notes },
      ...made,
    } satisfies TakenOver)
  }

  #showStat(plan: Changing): void {
    if (plan.files.length === 0) return
    const { files } = plan
    this.#say(formatStat({ ...countsOf({ ...plan, conflicts: [] }), files }, this.#output))
  }

  #say(text: string): void {
    if (this.#output.format === 'text') this.#output.line(text)
  }
}

/** The one that is named, else the one that is called as this checkout; the only one, whatever it is called. */
function chooseRepository(diff: RunDiff, checkout: Checkout, wanted: string | undefined): string | null {
  const names = diff.repositories.map(({ directory }) => directory)
  if (wanted !== undefined) {
    if (names.includes(wanted)) return wanted
    throw unknownRepository(diff, `The run has no repository ${wanted}.`)
  }
  if (!isOfSeveral(diff)) return names[0] ?? null
  if (names.includes(checkout.name)) return checkout.name
  throw unknownRepository(
    diff,
    `The run has ${names.length} repositories, and none is called ${checkout.name} as this checkout is.`,
  )
}

function dirty(files: readonly string[]): CommandFailure {
  const [first = ''] = files
  const which = files.length === 1 ? `${oneLine(first)} has` : `${files.length} tracked files have`
  return usageFailure(
    `${which} uncommitted changes here.`,
    'commit or stash them first, so that you can tell them from the changes of the run; --allow-dirty applies them anyway',
  )
}

const countsOf = ({ files, conflicts }: Changing) => ({
  files_changed: files.length + conflicts.length,
  additions: files.reduce((sum, { additions }) => sum + additions, 0),
  deletions: files.reduce((sum, { deletions }) => sum + deletions, 0),
})

/** Takes back the changes of the run alone. */
const reversal = ({ run_id, turn, repositories }: RunDiff, repository: string | null): string => {
  const of = repositories.length > 1 ? ` --repository ${repository}` : ''
  const strip = repositories.length > 1 ? ' -p2' : ''
  return `runyard diff ${run_id} --turn ${turn}${of} | git apply --reverse --index${strip}`
}

const countFiles = (files: readonly string[]): string =>
  `${files.length} ${files.length === 1 ? 'file' : 'files'}`
const listOf = (files: readonly string[]): string => files.map((file) => ` ! ${file}`).join('\n')
