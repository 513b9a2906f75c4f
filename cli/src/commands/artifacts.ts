import type { Command } from 'commander'
import { download, safeFileName } from '../download.ts'
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
    await download(artifact, file, { force: options.force ?? false, output })
    if (file === '-') return
    if (output.format === 'text') output.line(`${file} (${formatSize(artifact.data.size_bytes)})`)
    else output.json({ ...artifact, file })
  })
}
