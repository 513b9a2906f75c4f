import type { EventData, NewEvent } from '../contract/event.ts'
import { closesMessages } from '../log/interruption.ts'
import { endsStep } from '../log/step-end.ts'
import { type Entry, entryId } from '../log/transcript.ts'
import { readEntries, toMessages } from './messages.ts'
import type { StepRequest } from './model-step.ts'

/** For models of which nobody says how much they take in. */
const DEFAULT_WINDOW = 128_000
/** Of the window: from here on it counts as nearly full; the rest is for the answer, and for what was estimated too low. */
const NEARLY_FULL = 0.8
/** Of what there is room for: what came last and stays as it is, and messages of the user before it. */
const TAIL = 0.2
const MESSAGES = 0.1
/** Of the window: what must be gained for a summary to be worth its price. */
const WORTHWHILE = 0.2
/** Compactions with no more than one step between them. */
const MAX_IN_A_ROW = 5

export type RequestParts = Pick<StepRequest, 'resolved' | 'instructions' | 'tools'>
export type CompactionReason = EventData<'context.compacted'>['reason']

export interface CompactionPlan
  extends Pick<
    EventData<'context.compacted'>,
    'reason' | 'context_window' | 'tokens_before' | 'kept_messages' | 'kept_from'
  > {
  /** What the summary is to stand for, with the messages that are kept besides. */
  told: Entry[]
  /** Tokens that a request surely may have. */
  room: number
  /** Tokens of everything that stays. */
  kept_tokens: number
}

/** About four bytes of English, code or JSON are a token; of most other text more. */
export const estimateTokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / 4)

export const windowOf = ({ resolved }: Pick<RequestParts, 'resolved'>): number =>
  resolved.context_window ?? DEFAULT_WINDOW

/** `null`: there is room, or nothing worth a summary. */
export function planWhenNearlyFull(
  context: readonly NewEvent[],
  log: readonly NewEvent[],
  request: RequestParts,
): CompactionPlan | null {
  const context_window = windowOf(request)
  const tokens = estimateRequest(context, log, request)
  if (tokens < NEARLY_FULL * context_window) return null
  const { steps, in_a_row } = countCompactions(log)
  // Without a step since the last one, only the provider knows whether it was enough.
  if (in_a_row > 0 && (steps === 0 || isStuck(steps, in_a_row))) return null
  const plan = planCompaction(context, log, { reason: 'nearly_full', context_window, tokens, hard: false })
  const gained = plan ? tokens - plan.kept_tokens - fixedTokens(request) : 0
  return gained < WORTHWHILE * context_window ? null : plan
}

/** After the provider said that it was too long. `null`: it cannot be made shorter, or that does not help any more. */
export function planAfterOverflow(
  context: readonly NewEvent[],
  log: readonly NewEvent[],
  request: RequestParts,
): CompactionPlan | null {
  const { steps, in_a_row } = countCompactions(log)
  if (isStuck(steps, in_a_row)) return null
  const hard = in_a_row > 0 && steps === 0
  const tokens = estimateRequest(context, log, request)
  return planCompaction(context, log, {
    ...{ reason: 'overflow', context_window: windowOf(request), tokens, hard },
  })
}

/** Tokens of the next request: what the provider counted last, and what came since; else all of it, estimated. */
export function estimateRequest(
  context: readonly NewEvent[],
  log: readonly NewEvent[],
  request: RequestParts,
): number {
  const at = log.findLastIndex((event) => endsStep(event) || event.type === 'context.compacted')
  const last = log[at]
  if (last && endsStep(last) && last.data.input_tokens > 0) {
    const added = log.slice(at + 1).reduce((sum, event) => sum + tokensOf(event), 0)
    return last.data.input_tokens + last.data.output_tokens + added
  }
  return fixedTokens(request) + tokensOfEntries(readEntries([...context, ...log]))
}

function tokensOf(event: NewEvent): number {
  if (event.type === 'message.user') return estimateTokens(event.data.text)
  return event.type === 'tool.result' ? estimateTokens(event.data.output ?? '') : 0
}

const fixedTokens = ({ instructions, tools }: RequestParts): number =>
  estimateTokens(instructions) + estimateTokens(JSON.stringify(tools))

const tokensOfEntries = (entries: readonly Entry[]): number =>
  entries.length === 0 ? 0 : estimateTokens(JSON.stringify(toMessages(entries)))

/** `steps`: since the last one. `in_a_row`: since the user last said something, with no more than a step between two. */
function countCompactions(log: readonly NewEvent[]): { steps: number; in_a_row: number } {
  let steps = 0
  let in_a_row = 0
  for (const event of log) {
    if (event.type === 'message.user' || closesMessages(event)) {
      steps = 0
      in_a_row = 0
    } else if (endsStep(event)) steps += 1
    else if (event.type === 'context.compacted') {
      in_a_row = steps <= 1 ? in_a_row + 1 : 1
      steps = 0
    }
  }
  return { steps, in_a_row }
}

const isStuck = (steps: number, in_a_row: number): boolean => steps <= 1 && in_a_row >= MAX_IN_A_ROW

interface Situation {
  reason: CompactionReason
  context_window: number
  tokens: number
  /** It was not enough to leave what came last as it is. */
  hard: boolean
}

function planCompaction(
  context: readonly NewEvent[],
  log: readonly NewEvent[],
  { reason, context_window, tokens, hard }: Situation,
): CompactionPlan | null {
  const entries = readEntries([...context, ...log])
  // The window that is known may be another one than the provider has.
  const room = Math.min(context_window, tokens)
  const from = hard ? entries.length : findTail(entries, TAIL * room)
  const told = entries.slice(0, from)
  const tail = entries.slice(from)
  const messages = chooseMessages(told, {
    prompt: log.find((event) => event.type === 'message.user')?.data.message_id,
    room: hard ? 0 : MESSAGES * room,
    needs_newest: !tail.some(({ type }) => type === 'user'),
  })
  const kept = told.filter((entry) => entry.type === 'user' && messages.has(entry.message.message_id))
  // A summary of nothing but a summary would only lose words.
  if (told.every((entry) => entry.type === 'summary' || kept.includes(entry))) return null
  const kept_from = tail[0] && entryId(tail[0])
  return {
    ...{ reason, context_window, room, told, tokens_before: tokens },
    kept_messages: [...messages],
    ...(kept_from !== undefined && { kept_from }),
    kept_tokens: tokensOfEntries([...kept, ...tail]),
  }
}

/** Where the last entries begin that fit. A call and its result are one entry. */
function findTail(entries: readonly Entry[], room: number): number {
  let from = entries.length
  let tokens = 0
  for (let at = entries.length - 1; at >= 0; at--) {
    const entry = entries[at]
    if (!entry || entry.type === 'summary') break
    tokens += tokensOfEntries([entry])
    if (tokens > room) break
    if (entryId(entry) !== undefined) from = at
  }
  return from
}

/** The run's prompt and the newest others that fit, whole and in order. */
function chooseMessages(
  entries: readonly Entry[],
  { prompt, room, needs_newest }: { prompt: string | undefined; room: number; needs_newest: boolean },
): Set<string> {
  const chosen: string[] = []
  let tokens = 0
  let is_newest = needs_newest
  for (const entry of entries.toReversed()) {
    if (entry.type !== 'user') continue
    const { message_id, text } = entry.message
    tokens += estimateTokens(text)
    if (message_id === prompt || is_newest || tokens <= room) chosen.push(message_id)
    is_newest = false
  }
  return new Set(chosen.reverse())
}
