import type { Actor } from '../contract/actor.ts'
import { type Conversation, type ConversationStep, MAX_CHILD_DEPTH } from '../contract/conversation.ts'
import { type DescendantRow, listBelowConversation } from '../store/child-runs.ts'
import type { Db } from '../store/db.ts'

const MAX_RUNS = 100
/** Of all their steps together, as JSON. */
const MAX_BYTES = 1024 ** 2

/** The last event of a page: what came by then in its run, and all of the runs before, is on that page or an earlier one. */
export interface PageEnd {
  run_id: string
  at: string
}

type Part = Pick<Conversation, 'steps' | 'page_info'>

/**
 * Nests the runs below a conversation in the steps of its page: each in the step that created it, with the beginning of its own
 * conversation as `read` gives it. After MAX_BYTES nothing more is read, and runs come without steps. `after` and `end`
 * are where this page begins and ends; `null` is the conversation's own beginning and end.
 */
export async function nestRuns(
  db: Db,
  { conversation_id, steps }: Pick<Conversation, 'conversation_id' | 'steps'>,
  { after, end }: { after: PageEnd | null; end: PageEnd | null },
  actor: Actor,
  read: (conversation_id: string) => Promise<Part>,
): Promise<void> {
  const rows = await listBelowConversation(db, conversation_id, actor, MAX_RUNS)
  const shown = new Set<string>()
  let left = MAX_BYTES
  const partOf = async (id: string): Promise<Part> => {
    // Two runs may be of one conversation, which is shown with the first.
    if (shown.has(id)) return { steps: [], page_info: { has_next_page: false } }
    shown.add(id)
    const part = left > 0 ? await read(id) : nothing()
    left -= Buffer.byteLength(JSON.stringify(part.steps))
    return left >= 0 ? { steps: part.steps, page_info: part.page_info } : nothing()
  }
  const nest = async (into: ConversationStep[], runs: readonly DescendantRow[], depth: number) => {
    for (const row of runs) {
      const part = await partOf(row.conversation_id)
      const below = depth < MAX_CHILD_DEPTH ? rows.filter((each) => each.parent_run_id === row.run_id) : []
      await nest(part.steps, below, depth + 1)
      attach(into, row, part)
    }
  }
  const isHere = (place: string) =>
    (after === null || place >= placeOf(after.run_id, after.at)) &&
    (end === null || place < placeOf(end.run_id, end.at))
  await nest(
    steps,
    rows.filter((row) => row.is_child && isHere(createdAt(row))),
    1,
  )
}

/** Into the last step that had begun when its parent created it. */
function attach(steps: ConversationStep[], row: DescendantRow, { steps: own, page_info }: Part): void {
  const { run_id, parent_run_id, conversation_id, state, title } = row
  const [started_at] = own.flatMap((step) => step.started_at ?? []).sort()
  const completed_at = latest(own)
  const step: ConversationStep = {
    id: run_id,
    description: title,
    ...(started_at === undefined ? {} : { started_at }),
    ...(completed_at === undefined ? {} : { completed_at }),
    run: { run_id, parent_run_id, conversation_id, state, page_info },
    messages: [],
    steps: own,
  }
  const is_begun = ({ messages: [first] }: ConversationStep) =>
    first !== undefined && placeOf(first.run_id, first.timestamp) <= createdAt(row)
  const parent = steps.findLast(is_begun) ?? steps.find(({ messages }) => messages.length > 0)
  if (!parent) return void steps.push(step)
  parent.steps.push(step)
  const completed = latest([parent, step])
  if (completed !== undefined) parent.completed_at = completed
}

const latest = (steps: readonly ConversationStep[]): string | undefined =>
  steps
    .flatMap(({ completed_at }) => completed_at ?? [])
    .sort()
    .at(-1)

/** Ids of runs and times are ordered as text. */
const placeOf = (run_id: string, at: string): string => `${run_id} ${at}`
const createdAt = ({ parent_run_id, created_at }: DescendantRow): string =>
  placeOf(parent_run_id, created_at.toISOString())

const nothing = (): Part => ({ steps: [], page_info: { has_next_page: true } })
