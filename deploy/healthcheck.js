/** The image's health check: whether `serve` answers. A worker listens nowhere; as long as its process lives, it is well. */
import { readFileSync } from 'node:fs'

const started = readFileSync('/proc/1/cmdline', 'utf8').split('\0')
if (!started.includes('worker')) {
  const scheme = started.some((word) => word.startsWith('--tls-cert')) ? 'https' : 'http'
  // `--port 5000`, `--port=5000`, `-p 5000` and `-p5000` count more than the variable. Named twice, the last one counts.
  const ports = [...started.join('\0').matchAll(/\0(?:--port[=\0]|-p\0?)(\d+)(?=\0|$)/g)]
  const port = ports.at(-1)?.[1] ?? (process.env.RUNYARD_PORT || 4200)
  // The certificate names another host than this one.
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  process.removeAllListeners('warning')
  const { ok } = await fetch(`${scheme}://127.0.0.1:${port}/healthz`)
  process.exitCode = ok ? 0 : 1
}
