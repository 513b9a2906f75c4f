import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { BLOCKED_MS, type Block, describeBlock, watchEventLoop, workFor } from './event-loop.ts'

/** Keeps the thread busy by its own clock, whatever else the machine does. */
function compute(ms: number): void {
  const began = process.threadCpuUsage()
  for (;;) {
    const { user, system } = process.threadCpuUsage(began)
    if ((user + system) / 1_000 >= ms) return
  }
}

const hearBlock = async (task: () => Promise<unknown>): Promise<Block> => {
  const { promise, resolve } = Promise.withResolvers<Block>()
  const stop = watchEventLoop(resolve)
  const over = new AbortController()
  const late = wait(5_000, null, { signal: over.signal }).catch(() => null)
  try {
    await task()
    return (await Promise.race([promise, late])) ?? assert.fail('No block was reported.')
  } finally {
    over.abort()
    stop()
  }
}

test('a block is named after the work that caused it, also behind files, timers and in small pieces', async () => {
  const work = { kind: 'run', run_id: 'a', attempt: 1 } as const
  const other = { kind: 'request', method: 'POST', route: '/b', principal_id: 'p' } as const
  const one_piece = await hearBlock(() =>
    Promise.all([
      workFor(other, async () => {
        await readFile(import.meta.filename)
        compute(20)
      }),
      workFor(work, async () => {
        await readFile(import.meta.filename)
        await null
        compute(BLOCKED_MS + 50)
      }),
    ]),
  )
  assert.equal(one_piece.work, work)
  assert(one_piece.cpu_ms >= BLOCKED_MS)
  // No piece is long: each continues before a timer may.
  const pieces = await hearBlock(() =>
    workFor(other, async () => {
      for (let piece = 0; piece < 40; piece += 1) {
        compute(10)
        await null
      }
    }),
  )
  assert.equal(pieces.work, other)
  assert.match(describeBlock(pieces)[1], /^POST \/b by p blocked the event loop for \d+ ms/)
})

test('work that shares the thread is not reported, nor what belongs to nobody named', async () => {
  const blocks: Block[] = []
  const stop = watchEventLoop((block) => blocks.push(block))
  await workFor({ kind: 'run', run_id: 'a' }, async () => {
    for (let piece = 0; piece < 4; piece += 1) {
      compute(20)
      await wait(1)
    }
  })
  assert.deepEqual(
    blocks.filter(({ work, cpu_ms }) => work && cpu_ms >= BLOCKED_MS),
    [],
  )
  stop()
  const unnamed = await hearBlock(async () => compute(2 * BLOCKED_MS))
  assert.equal(unnamed.work, null)
})
