import type { Command } from 'commander'
import { download, safeFileName } from '../download.ts'
import { CommandFailure } from '../failure.ts'
import { formatSize } from '../run-text.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'

interface GetOptions extends ClientOptions {
  file?: string
  force?: boolean
}

/** `artifacts get`, `workspace`: what is downloaded as it is. */
export function addArtifactCommands(program: Command): void {
  addClientOptions(
    program
      .command('workspace <run-id>')
      .summary('download the workspace of a run')
      .description(
        'Downloads the workspace as the last execution left it, a tar compressed with zstd: `tar --zstd -xf workspace.tar.zst`. It holds the folders workspace and home/agent.',
      )
      .option('-f, --file <file>', 'where to; - for standard output; default: workspace.tar.zst')
      .option('--force', 'replace a file that is there'),
  ).action(async (run_id: string, options: GetOptions) => {
    const { client, output } = openSession(options)
    const { attachments } = await client.runs.handoffAttachments(run_id)
    const [workspace] = attachments
    if (!workspace)
      throw new CommandFailure('Nothing is kept of the workspace of this run.', {
        hint: 'a workspace is kept when a turn ends that changed files',
      })
    const file = options.file ?? safeFileName(workspace.filename)
    await download({ data: workspace }, file, { force: options.force ?? false, output })
    if (file === '-') return
    if (output.format === 'text') output.line(`${file} (${formatSize(workspace.size_bytes)})`)
    else output.json({ ...workspace, file })
  })

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
