import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const LIMIT_MS = 5_000
const PROGRAM = fileURLToPath(new URL('./page-process.ts', import.meta.url))

/**
 * A page of HTML as Markdown; `null` where making it takes too long or too much memory, as it may by its author's wish, and
 * where the signal fires first.
 */
export async function readPage(html: string, signal?: AbortSignal): Promise<string | null> {
  const { NODE_COMPILE_CACHE } = process.env
  const ended = new AbortController()
  const converter = fork(PROGRAM, {
    // It reads what a stranger wrote, and needs nothing of this process.
    ...{ execArgv: [], cwd: '/', env: NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {} },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  converter.once('exit', () => ended.abort())
  converter.on('error', () => ended.abort())
  const asking = AbortSignal.any([ended.signal, ...(signal ? [signal] : [])])
  const hear = (until: AbortSignal) => once(converter, 'message', { signal: until })
  try {
    await hear(asking)
    // Counted from when it runs, not from when a busy machine got round to starting it.
    const heard = hear(AbortSignal.any([asking, AbortSignal.timeout(LIMIT_MS)]))
    converter.send(html, () => {})
    const [text] = (await heard) as [string]
    return text
  } catch {
    return null
  } finally {
    converter.kill('SIGKILL')
  }
}
