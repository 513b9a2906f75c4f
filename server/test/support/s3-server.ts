import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { setupPython } from '../../../scripts/setup-python.ts'
import type { S3Place } from '../../src/blobs/s3-client.ts'

const PROGRAM = fileURLToPath(new URL('./s3-server.py', import.meta.url))

export interface S3Server {
  endpoint: string
  bucket: string
  /** May do everything with S3. */
  owner: S3Credentials
  /** May read only. */
  reader: S3Credentials
  /** The owner's, below this prefix. */
  place(prefix?: string): S3Place
  /** The same for a process. */
  environment(prefix: string): Record<string, string>
  stop(): Promise<void>
}

interface S3Credentials {
  accessKeyId: string
  secretAccessKey: string
}

interface Said {
  port: number
  bucket: string
  owner: { access_key_id: string; secret_access_key: string }
  reader: { access_key_id: string; secret_access_key: string }
}

/** Why there can be no server that speaks S3 here; `false` when there can. */
export const missingS3 = (): string | false => {
  const python = setupPython()
  return 'missing' in python && python.missing
}

/** A server that speaks S3 and checks signatures, on a free port; with one bucket, empty. */
export async function startS3(): Promise<S3Server> {
  const python = setupPython()
  if ('missing' in python) throw new Error(python.missing)
  const child = spawn(python.python, [PROGRAM], { stdio: ['pipe', 'pipe', 'pipe'] })
  let printed = ''
  child.stderr.on('data', (chunk) => {
    printed += chunk
  })
  const exited = once(child, 'exit')
  const line = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line').then(([text]) => String(text)),
    exited.then(() => {
      throw new Error(`The S3 server ended:\n${printed}`)
    }),
  ])
  const { port, bucket, ...users } = JSON.parse(line) as Said
  const endpoint = `http://127.0.0.1:${port}`
  const read = ({ access_key_id, secret_access_key }: Said['owner']) => ({
    accessKeyId: access_key_id,
    secretAccessKey: secret_access_key,
  })
  const [owner, reader] = [read(users.owner), read(users.reader)]
  return {
    endpoint,
    bucket,
    owner,
    reader,
    place: (prefix = '') => ({ bucket, prefix, region: 'us-east-1', endpoint, credentials: owner }),
    environment: (prefix) => ({
      RUNYARD_BLOBS: `s3://${bucket}/${prefix}`,
      AWS_ENDPOINT_URL_S3: endpoint,
      AWS_ACCESS_KEY_ID: owner.accessKeyId,
      AWS_SECRET_ACCESS_KEY: owner.secretAccessKey,
    }),
    async stop() {
      // It ends with its standard input.
      child.stdin.end()
      await exited
    },
  }
}
