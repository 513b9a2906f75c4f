import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { ArtifactResponse } from '@runyard/client'
import type { Command } from 'commander'
import { cleanText } from '../clean-text.ts'
import { CommandFailure, usageFailure } from '../failure.ts'
import { formatSize } from '../run-text.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'

interface GetOptions extends ClientOptions {
  file?: string
  force?: boolean
}

export function addArtifactCommands(program: Command): void {
  const group = program.command('artifacts').summary('download what runs made').description('What runs made.')
  addClientOptions(
    group
      .command('get <uid>')
      .description('Downloads an artifact. `runyard get RUN_ID` lists those of a run.')
      .option('-f, --file <file>', 'where to; - for standard output; default: its name, in this directory')
      .option('--force', 'replace a file that is there'),
  ).action(async (uid: string, options: GetOptions) => {
    const { client, output } = openSession(options)
    const artifact = await client.artifacts.retrieve(uid)
    const file = options.file ?? safeFileName(artifact.data.filename)
    await download(artifact, file, options.force ?? false)
    if (file === '-') return
    if (output.format === 'text') output.line(`${file} (${formatSize(artifact.data.size_bytes)})`)
    else output.json({ ...artifact, file })
  })
}

/** A name made by an agent, as one that stays in this directory and shows as what it is. */
export function safeFileName(name: string): string {
  const clean = basename(cleanText(name).replaceAll('\\', '/'))
    .replace(/[\s<>:"|?*]+/g, '_')
    .replace(/^[.-]+/, '')
    .slice(0, 200)
  return clean || 'artifact'
}

async function download({ data }: ArtifactResponse, file: string, force: boolean): Promise<void> {
  const response = await fetch(data.download_url)
  if (!response.ok || !response.body)
    throw new CommandFailure(`The download failed with status ${response.status}.`)
  const digest = createHash('sha256')
  const body = response.body
  const chunks = async function* () {
    for await (const chunk of body) {
      digest.update(chunk)
      yield chunk
    }
  }
  if (file === '-') await pipeline(chunks, process.stdout, { end: false })
  else await writeTo(file, chunks, force)
  if (digest.digest('hex') === data.sha256) return
  if (file !== '-') await rm(file)
  throw new CommandFailure('What arrived is not what the artifact was: the checksum differs.')
}

async function writeTo(
  file: string,
  chunks: () => AsyncGenerator<Uint8Array>,
  force: boolean,
): Promise<void> {
  try {
    await pipeline(chunks, createWriteStream(file, { flags: force ? 'w' : 'wx' }))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    throw usageFailure(`${file} exists already.`, '--force replaces it, --file names another')
  }
}
