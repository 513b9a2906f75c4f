import { basename } from 'node:path'
import type { Runyard, WorkspaceFileItem, WorkspaceFileParams } from '@runyard/client'
import type { Command } from 'commander'
import { safeFileName, saveBytes } from '../download.ts'
import { CommandFailure } from '../failure.ts'
import { oneLine } from '../one-line.ts'
import { wholeNumber } from '../option-values.ts'
import type { Output } from '../output.ts'
import { formatSize } from '../run-text.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { formatTable } from '../table.ts'

interface FilesOptions extends ClientOptions {
  turn?: number
  file?: string | true
  force?: boolean
}

/** `files`: the workspace of a run, as a turn left it. */
export function addFilesCommand(program: Command): void {
  addClientOptions(
    program
      .command('files <run-id> [path]')
      .summary('list and read the files of a run’s workspace')
      .description(
        'Lists what lies directly in a folder of /workspace as the last turn of a run left it, or prints a file. Workspaces are kept when a turn ends that changed files.',
      )
      .option('--turn <n>', 'as this turn left it', wholeNumber(1, 1_000_000))
      .option('-f, --file [file]', 'save the file: where to; default: its name, in this directory')
      .option('--force', 'replace a file that is there'),
  ).action(
    async (run_id: string, path: string = '', { turn, file, force = false, ...options }: FilesOptions) => {
      const { client, output } = openSession(options)
      const asked = { path, turn }
      if (file !== undefined) return save(client, run_id, asked, { file, force, output })
      const list = client.files.list(run_id, { ...asked, limit: 500 })
      const first = await list
      const [alone] = first.files
      if (
        output.format === 'text' &&
        first.files.length === 1 &&
        alone?.type === 'file' &&
        alone.path === first.path
      )
        return saveBytes(() => open(client, run_id, { path, turn: first.turn }, output), '-', {
          force,
          output,
        })
      const files: WorkspaceFileItem[] = []
      for await (const each of list) files.push(each)
      if (output.format === 'json') return output.json({ ...first, files })
      if (output.format === 'ndjson') return files.forEach(output.json)
      if (files.length === 0) output.note('The folder is empty.')
      else
        output.line(formatTable([{ heading: 'SIZE', align: 'right' }, { heading: 'NAME' }], files.map(rowOf)))
      const others = first.turns.filter((each) => each !== first.turn)
      const more = others.length > 0 ? ` --turn has others: ${others.join(', ')}.` : ''
      output.note(`As turn ${first.turn} left it.${more}`)
    },
  )
}

const rowOf = ({ name, type, size_bytes, target }: WorkspaceFileItem): string[] => [
  size_bytes === undefined ? '' : formatSize(size_bytes),
  oneLine(`${name}${type === 'folder' ? '/' : type === 'link' ? ` -> ${target}` : ''}`),
]

async function save(
  client: Runyard,
  run_id: string,
  asked: WorkspaceFileParams,
  { file, force, output }: { file: string | true; force: boolean; output: Output },
): Promise<void> {
  const found = await client.files.retrieve(run_id, asked)
  const target = file === true ? safeFileName(basename(found.name)) : file
  await saveBytes(() => open(client, run_id, { ...asked, turn: found.turn }), target, { force, output })
  if (target === '-') return
  if (output.format === 'text') output.line(`${target} (${formatSize(found.size_bytes)})`)
  else output.json({ ...found, file: target })
}

/** The bytes of a file; on a terminal, of one with text in it. */
async function open(
  client: Runyard,
  run_id: string,
  params: WorkspaceFileParams,
  output?: Output,
): Promise<AsyncIterable<Uint8Array>> {
  const { body } = await client.files.download(run_id, params)
  if (!body) throw new CommandFailure('The server sent no file.')
  return output?.terminal && !output.raw ? textOf(body) : body
}

async function* textOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    if (chunk.includes(0))
      throw new CommandFailure('This is not a text file.', { hint: '--file saves it, --raw prints it' })
    yield chunk
  }
}
