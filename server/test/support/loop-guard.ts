import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { BLOCKED_MS, type Block, describeBlock, watchEventLoop } from '../../src/watchdog/event-loop.ts'

/** A watch that counts the processor's time alone: on a busy machine everything takes long by the clock. */
export function watchBlocks(): { named(): Block[]; stop(): void } {
  const blocks: Block[] = []
  const stop = watchEventLoop((block) => {
    if (block.work && block.cpu_ms >= BLOCKED_MS) blocks.push(block)
  })
  return { named: () => blocks, stop }
}

/** Fails if the task itself keeps the thread for 250 ms. Returns what it returns. */
export function assertBrief<Result>(task: () => Result): Result {
  const began = process.threadCpuUsage()
  try {
    return task()
  } finally {
    const { user, system } = process.threadCpuUsage(began)
    const took = Math.round((user + system) / 1_000)
    assert(took < BLOCKED_MS, `It kept the thread for ${took} ms.`)
  }
}

/** Fails the suite that calls it if a request or run of this process computes for 250 ms without letting others in. */
export function guardEventLoop(): void {
  let watch: ReturnType<typeof watchBlocks> | undefined
  before(() => {
    watch = watchBlocks()
  })
  after(() => {
    watch?.stop()
    assert.deepEqual(
      watch?.named().map((block) => describeBlock(block)[1]),
      [],
    )
  })
}
