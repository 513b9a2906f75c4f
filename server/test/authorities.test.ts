/** Programs in sandboxes trust the authorities that the service was told of by NODE_EXTRA_CA_CERTS. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeCertificate } from './support/certificate.ts'
import { whyNoBubblewrap, whyNoDocker } from './support/machine.ts'
import { TEST_IMAGE } from './support/sandbox-backends.ts'
import { apiOf, shell, startDevProcess, temporaryDirectory } from './support/service.ts'
import { printed } from './support/traces.ts'

/** Serves and fetches by TLS inside of the sandbox. */
const program = (key: Buffer, cert: Buffer): string => `
  const server = require('node:https').createServer({ key: ${JSON.stringify(String(key))}, cert: ${JSON.stringify(String(cert))} },
    (_, response) => response.end('it is trusted'))
  server.listen(0, async () => {
    const answer = await fetch('https://localhost:' + server.address().port).then((one) => one.text(), ({ cause }) => cause.code)
    console.log(answer)
    process.exit()
  })`

for (const [sandbox, skip] of [
  ['bubblewrap', whyNoBubblewrap()],
  ['docker', whyNoDocker()],
] as const)
  test(`in a sandbox of ${sandbox}`, { skip, timeout: 240_000 }, async () => {
    const { key, cert, cert_file } = makeCertificate('localhost')
    const data_dir = temporaryDirectory('data')
    const ask = async (env: Record<string, string>): Promise<string> => {
      const service = await startDevProcess({
        data_dir,
        sandbox,
        env: { ...env, RUNYARD_DEFAULT_IMAGE: TEST_IMAGE },
      })
      try {
        const api = apiOf(service)
        const encoded = Buffer.from(program(key, cert)).toString('base64')
        const counted = 'grep -c BEGIN "$SSL_CERT_FILE" 2>/dev/null || echo none'
        const run_id = await api.create({ prompt: shell(`echo ${encoded} | base64 -d | node -; ${counted}`) })
        await api.ended(run_id)
        return printed(await api.events(run_id))
      } finally {
        await service.stop()
      }
    }
    const told = await ask({ NODE_EXTRA_CA_CERTS: cert_file })
    assert.match(told, /it is trusted\n/)
    // The others are trusted as before.
    assert(Number(/\n(\d+)\n/.exec(told)?.[1]) > 100, told)
    // The same for every sandbox: the worker takes the file away.
    if (sandbox !== 'bubblewrap') return
    const untold = await ask({})
    assert.match(untold, /DEPTH_ZERO_SELF_SIGNED_CERT\nnone\n/)
    assert(!existsSync(join(data_dir, 'agents/ca-certificates.pem')))
  })
