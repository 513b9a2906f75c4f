import type { Actor } from '../contract/actor.ts'
import { type Conversation, type ConversationChild, MAX_CHILD_DEPTH } from '../contract/conversation.ts'
import { type DescendantRow, listBelowConversation } from '../store/child-runs.ts'
import type { Db } from '../store/db.ts'

const MAX_CHILDREN = 100
/** Of all their steps together, as JSON. */
const MAX_BYTES = 1024 ** 2

/**
 * The runs below those of a conversation, each in its parent, with the beginning of its own conversation as `read` gives it. Once
 * MAX_BYTES are reached nothing more is read, and they come without.
 */
export async function readChildren(
  db: Db,
  conversation_id: string,
  actor: Actor,
  read: (conversation_id: string) => Promise<Conversation>,
): Promise<ConversationChild[]> {
  const rows = await listBelowConversation(db, conversation_id, actor, MAX_CHILDREN)
  const told = new Set<string>()
  let left = MAX_BYTES
  const partOf = async (id: string): Promise<Pick<ConversationChild, 'steps' | 'page_info'>> => {
    // Two runs may be of one conversation, which then stands with the first.
    if (told.has(id)) return { steps: [], page_info: { has_next_page: false } }
    told.add(id)
    const { steps, page_info } = left > 0 ? await read(id) : NOTHING
    left -= Buffer.byteLength(JSON.stringify(steps))
    return left >= 0 ? { steps, page_info } : NOTHING
  }
  const nest = async (children: readonly DescendantRow[], depth: number): Promise<ConversationChild[]> => {
    const nested: ConversationChild[] = []
    for (const { is_child: _, created_at, ...row } of children) {
      const part = await partOf(row.conversation_id)
      const below = rows.filter(({ parent_run_id }) => parent_run_id === row.run_id)
      const more = depth < MAX_CHILD_DEPTH && below.length > 0 ? await nest(below, depth + 1) : []
      nested.push({
        ...{ ...row, created_at: created_at.toISOString(), ...part },
        ...(more.length > 0 ? { children: more } : {}),
      })
    }
    return nested
  }
  return nest(
    rows.filter(({ is_child }) => is_child),
    1,
  )
}

const NOTHING = { steps: [], page_info: { has_next_page: true } }
