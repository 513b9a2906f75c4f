/** Loaded first in each process that runs tests. */
import { relative } from 'node:path'
import { isTestFile } from './files.ts'
import { startMeter } from './meter.ts'

/**
 * What is written waits until the runner has taken it. Otherwise the forced exit after the last test loses whatever a busy runner
 * has not read yet, and with it tests, failed ones too.
 */
function writeAtOnce(stream: object): void {
  if ('_handle' in stream && isPipe(stream._handle)) stream._handle.setBlocking(true)
}

const isPipe = (handle: unknown): handle is { setBlocking(on: boolean): void } =>
  typeof handle === 'object' && handle !== null && 'setBlocking' in handle

writeAtOnce(process.stdout)
const [, script = ''] = process.argv
// Several files in one process are measured one by one, by lane.ts. Children inherit Node's options, but run other programs.
if (isTestFile(script)) {
  const stop = startMeter(relative(process.cwd(), script))
  // Before what the file does at its end, such as ending its children: those count.
  process.prependListener('exit', stop)
}
