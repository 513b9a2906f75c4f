import type { RunEvent, RunState, WaitsFor } from '@runyard/client'
import type { TerminalText } from '../text/terminal-text.ts'

type DataOf<T extends RunEvent['type']> = Extract<RunEvent, { type: T }>['data']

/** `printed` is changed in place, and `revision` grows with it. */
export type SetupStep = DataOf<'setup'> & { key: string; printed: TerminalText; revision: number }

export interface ToolCall {
  kind: 'tool'
  key: string
  name: string
  /** A line for people: what the tool says of the call, or its name. */
  title: string
  input: Record<string, unknown>
  started_at: number
  status: 'running' | 'waiting' | 'done' | 'failed' | 'stopped'
  output: TerminalText
  /** Grows with the output, which is changed in place. */
  revision: number
  result?: DataOf<'tool.result'>
}

export type Tone = 'plain' | 'warning' | 'good'

/** What stands in a conversation. An entry is replaced when it changes, never changed; its key stays. */
export type Entry =
  | {
      kind: 'asked'
      key: string
      text: string
      author: string
      at: string
      files: string[]
      is_waiting: boolean
    }
  | { kind: 'said'; key: string; text: string; is_growing: boolean }
  | { kind: 'reasoning'; key: string; title: string; text: string }
  | ToolCall
  | { kind: 'setup'; key: string; steps: SetupStep[]; status: 'running' | 'done' | 'failed' | 'stopped' }
  | { kind: 'note'; key: string; tone: Tone; text: string; more?: string; url?: string; link?: string }
  | {
      kind: 'approval'
      key: string
      request: DataOf<'approval.requested'>
      answer?: DataOf<'approval.answered'>
    }
  | {
      kind: 'end'
      key: string
      state: RunState
      message: string
      error_code: string | undefined
      waits_for?: WaitsFor | undefined
      /** Of its execution so far. */
      worked_ms: number
      /** What an agent asked with answers to choose from; `is_open`: nobody has answered yet. */
      question?: { text: string; options: string[]; is_open: boolean }
      /** Of its event: where a fork may go on from. */
      sequence: number
    }

export type { DataOf }
