/** What `runyard doctor` says of the address that `serve` and `dev` listen on. */
import { get as getPlain } from 'node:http'
import { get as getSecure } from 'node:https'
import { createServer } from 'node:net'
import { json } from 'node:stream/consumers'
import { z } from 'zod'
import type { Config } from './config.ts'
import { isServed } from './control.ts'
import type { Finding } from './sandbox/prospects.ts'

/** What `/healthz` of a Runyard answers. */
const Health = z.strictObject({ status: z.literal('ok'), version: z.string().regex(/^\d+\.\d+\.\d+/) })
const ANSWER_LIMIT_MS = 2_000

export async function examineAddress({
  host,
  port,
  public_url,
  data_dir,
  trust_proxy,
}: Config): Promise<Finding[]> {
  const findings: Finding[] = []
  const refusal = await tryListen(host, port)
  if (refusal === null) findings.push({ state: 'good', says: `${host}:${port} is free to listen on.` })
  else if (refusal === 'EADDRINUSE' && (await isServed(data_dir)))
    findings.push({
      state: 'good',
      says: `${host}:${port} is taken, and a \`runyard dev\` of this directory runs.`,
    })
  else {
    const version = refusal === 'EADDRINUSE' ? await findRunyard(host, port) : null
    findings.push(
      version === null
        ? {
            state: 'bad',
            says: `${host}:${port} cannot be listened on (${refusal}).`,
            fix: 'Choose others with RUNYARD_HOST and RUNYARD_PORT, or end what listens there.',
          }
        : { state: 'good', says: `${host}:${port} is taken by a Runyard ${version} that runs.` },
    )
  }
  const is_local = host === 'localhost' || host === '::1' || host.startsWith('127.')
  if (!is_local && !public_url)
    findings.push({
      state: 'weak',
      says: 'Links lead to localhost, and requests by another name are refused.',
      fix: 'Set RUNYARD_PUBLIC_URL to the address that others use.',
    })
  if (!is_local && !trust_proxy)
    findings.push({
      state: 'weak',
      says: 'Listening beyond this machine without TLS: keys travel in the clear.',
      fix: 'Give `serve` --tls-cert and --tls-key, or put a proxy in front and set RUNYARD_TRUST_PROXY=true.',
    })
  return findings
}

/** The error's code, or `null`. */
const tryListen = (host: string, port: number): Promise<string | null> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ host, port }, () => server.close(() => resolve(null)))
  })

/** The version of the Runyard that listens there, with TLS or without; `null` where something else does. */
async function findRunyard(hostname: string, port: number): Promise<string | null> {
  for (const get of [getPlain, getSecure]) {
    // Nothing is sent to it that it should not have, whoever it is.
    const options = { hostname, port, path: '/healthz', rejectUnauthorized: false, agent: false }
    const answer = await new Promise<unknown>((resolve) => {
      const signal = AbortSignal.timeout(ANSWER_LIMIT_MS)
      const request = get({ ...options, signal }, (response) => json(response).then(resolve, resolve))
      request.once('error', resolve)
    })
    const { data } = Health.safeParse(answer)
    if (data) return data.version
  }
  return null
}
