import type { RequestPermissionRequest, RequestPermissionResponse } from '@agentclientprotocol/sdk'
import { isRecord } from '../contract/storable-text.ts'

/** `stop`: its turn ends, and with it the call. */
export type PermissionAnswer = 'allow' | 'deny' | 'stop'

const KINDS = {
  allow: ['allow_once', 'allow_always'],
  deny: ['reject_once', 'reject_always'],
  stop: [],
} as const

/** In the words of the agent: of the options that it gives, the one for this call alone. */
export function writeAnswer(
  { options }: RequestPermissionRequest,
  answer: PermissionAnswer,
): RequestPermissionResponse {
  const option = KINDS[answer]
    .map((wanted) => options.find(({ kind }) => kind === wanted))
    .find((found) => found !== undefined)
  return {
    outcome: option ? { outcome: 'selected', optionId: option.optionId } : { outcome: 'cancelled' },
  }
}

/** Our tools that do the same as a call of a kind: rules name them without knowing the agent. */
const OURS: Record<string, readonly string[]> = {
  execute: ['bash'],
  edit: ['edit', 'write'],
  delete: ['edit', 'write'],
  move: ['edit', 'write'],
  read: ['read'],
  search: ['grep', 'glob'],
  fetch: ['fetch_url'],
}

/** Whatever has a command for its input runs it, of whatever kind its agent says that it is. */
export const namesOf = (name: string, kind: string | undefined, input: unknown): string[] => [
  ...new Set([
    name,
    ...(OURS[kind ?? ''] ?? []),
    ...(isRecord(input) && typeof input.command === 'string' ? ['bash'] : []),
  ]),
]
