import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { createLoop } from '../../src/harness/loop.ts'
import { openModels } from '../../src/harness/models.ts'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import { MISTRAL_IDS } from './chat-rules.ts'
import { type ModelServerOptions, openModelServer, type Script } from './model-server.ts'
import { openTestSandbox } from './sandbox.ts'
import { TestTurn, type TestTurnOptions } from './turn.ts'

/** Turns are played in it; the files that share a process have one after the other. */
export let sandbox: Sandbox

/** A test file calls this once, where its hooks are. */
export function useSandbox(): void {
  before(async () => {
    sandbox = await openTestSandbox()
  })
  after(() => sandbox.destroy())
}

export const OPTIONS = { retry_delay_ms: 1, max_steps: 10 }
export const bash = (command: string) => ({ name: 'bash', arguments: { command } })

export interface Scene extends Omit<TestTurnOptions, 'sandbox'>, ModelServerOptions {
  script: Script
  silence_ms?: number
  idle_ms?: number
  retry_for_ms?: number
  /** Tokens the model is said to take in. */
  context_window?: number
  max_steps?: number
  prepare?: (turn: TestTurn) => void
}
/** Plays a turn against a scripted model; the server is gone afterwards. */
export async function play({
  script,
  prepare,
  models,
  api_key,
  silence_ms,
  idle_ms,
  retry_for_ms = 60_000,
  context_window,
  max_steps = OPTIONS.max_steps,
  prompt = 'Do it.',
  ...options
}: Scene) {
  await using server = await openModelServer(script, {
    ...{ call_ids: MISTRAL_IDS },
    ...(models && { models }),
    ...(api_key && { api_key }),
  })
  const turn = new TestTurn({ sandbox, prompt, ...options })
  prepare?.(turn)
  const provider = openModels({
    openai: { base_url: server.url, api_key: 'sk-secret' },
    default_model: 'openai/scripted',
    ...(silence_ms && { silence_ms }),
    ...(idle_ms && { idle_ms }),
    ...(context_window && { context_windows: { 'openai/scripted': context_window } }),
  })
  const outcome = await turn.runHarness(createLoop(provider, { ...OPTIONS, max_steps, retry_for_ms }))
  assert.deepEqual(turn.late, [])
  return { turn, outcome, requests: server.requests.map((request) => request.body) }
}
