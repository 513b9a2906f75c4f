import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Role, until } from './cluster.ts'
import { temporaryDirectory } from './service.ts'

/** The environment of a process whose event loop `stall` can stop. */
export const STALLABLE = { NODE_OPTIONS: '--inspect=127.0.0.1:0' }

/**
 * Makes a process's event loop stand still, as an endless regular expression would; its threads go on. Resolves when it
 * does; the function it returns lets the loop go on.
 */
export async function stall(role: Role): Promise<() => void> {
  const url = /Debugger listening on (ws:\S+)/.exec(role.log())?.[1]
  assert(url, 'The process was not started with STALLABLE.')
  const socket = new WebSocket(url)
  await once(socket, 'open')
  const directory = temporaryDirectory('stall')
  const begun = join(directory, 'begun')
  const over = join(directory, 'over')
  // It waits without using the processor, and for three minutes at most.
  const expression = `{
    const { existsSync, writeFileSync } = process.getBuiltinModule('node:fs')
    const nothing = new Int32Array(new SharedArrayBuffer(4))
    writeFileSync(${JSON.stringify(begun)}, '')
    for (let turn = 0; turn < 3600 && !existsSync(${JSON.stringify(over)}); turn += 1) Atomics.wait(nothing, 0, 0, 50)
  }`
  socket.send(JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression } }))
  await until('the standstill', () => existsSync(begun))
  return () => {
    writeFileSync(over, '')
    socket.close()
  }
}
