/** Commands inside the tests' process: a process of its own costs a second of CPU. */
import { InnerProcess } from '../../../cli/test/inner-process.ts'
import type { Ended } from '../../../cli/test/runyard.ts'
import { temporaryDirectory } from './leftovers.ts'
import { commandEnvironment, enter } from './service.ts'

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
      if (/is running|Listening on|Working for/.test(String(text))) command.emit('SIGTERM')
    })
  command.stdin.end()
  return command.ended.finally(leave)
}
