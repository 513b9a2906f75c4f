/** Commands inside the tests' process: a process of its own costs a second of CPU. */
import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import { InnerProcess } from '../../../cli/test/inner-process.ts'
import type { Ended } from '../../../cli/test/runyard.ts'
import { temporaryDirectory } from './leftovers.ts'
import { commandEnvironment, enter, spawnRunyard } from './service.ts'

const LIMIT_MS = 60_000

/** Runs a command to its end, with the environment that `spawnRunyard` gives it. What the service logs isn't in `stderr`. */
export async function runCommand(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  const leave = enter(undefined)
  const command = new InnerProcess(args, {
    env: commandEnvironment(temporaryDirectory('home'), env),
    directory: process.cwd(),
  })
  // A role that should have been refused would run for ever.
  for (const output of [command.stdout, command.stderr])
    output.on('data', (text) => {
      if (/is running|Listening on|Working for|Waiting/.test(String(text))) command.emit('SIGTERM')
    })
  command.stdin.end()
  const limit = wait(LIMIT_MS, undefined, { ref: false }).then(() => {
    command.emit('SIGTERM')
    throw new Error(`Not ended within ${LIMIT_MS} ms: ${args.join(' ')}`)
  })
  return Promise.race([command.ended, limit]).finally(leave)
}

/** The same as a process of its own. */
export async function runProcess(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  const child = spawnRunyard(args, env)
  const limit = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS)
  assert(child.stdout)
  const [stdout, code] = await Promise.all([
    text(child.stdout),
    new Promise<number | null>((resolve) => child.once('close', resolve)),
  ])
  clearTimeout(limit)
  assert.notEqual(code, null, `Not ended within ${LIMIT_MS} ms: ${args.join(' ')}`)
  return { code: Number(code), stdout, stderr: child.log() }
}
