/** Entry of the gateway's process: `node gateway-process.ts '{"directory": …}'`; see gateway/gateway-pipe.ts. */
import type { GatewayArguments } from './gateway/gateway-pipe.ts'
import { runGateway } from './gateway/run-gateway.ts'

// A terminal's Ctrl-C is the worker's business; the gateway goes when the pipe closes.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
await runGateway(JSON.parse(process.argv[2] ?? '{}') as GatewayArguments, {
  input: process.stdin,
  output: process.stdout,
})
process.exit(0)
