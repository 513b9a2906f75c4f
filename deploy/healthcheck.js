/** Of the image: whether `serve` answers. A worker listens nowhere; as long as its process lives, it is well. */
import { readFileSync } from 'node:fs'

const started = readFileSync('/proc/1/cmdline', 'utf8').split('\0')
if (!started.includes('worker')) {
  const scheme = started.some((word) => word.startsWith('--tls-cert')) ? 'https' : 'http'
  // The certificate names another host than this one.
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  process.removeAllListeners('warning')
  const { ok } = await fetch(`${scheme}://127.0.0.1:${process.env.RUNYARD_PORT || 4200}/healthz`)
  process.exitCode = ok ? 0 : 1
}
