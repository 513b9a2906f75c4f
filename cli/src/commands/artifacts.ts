import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { ArtifactResponse, RunItem } from '@runyard/client'
import type { Command } from 'commander'
import { currentProcess, resolvePath } from '../current-process.ts'
import { download, extensionOf, safeFileName } from '../download.ts'
import { CommandFailure, explain, usageFailure } from '../failure.ts'
import { oneLine } from '../one-line.ts'
import { openBrowser } from '../open-browser.ts'
import { describeArtifact, formatSize } from '../run-text.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { shortId } from '../short-id.ts'

interface GetOptions extends ClientOptions {
  file?: string
  force?: boolean
}

interface SaveOptions extends ClientOptions {
  to?: string
  force?: boolean
}

/** `artifacts`, `workspace`: what is downloaded as it is. */
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

  const group = program
    .command('artifacts')
    .summary('list, download and open what runs made')
    .description('What runs made: files, pictures, plans, patches and pull requests.')
  addClientOptions(
    group.command('list <run-id>').alias('ls').description('Lists what a run made, the oldest first.'),
  ).action(async (run_id: string, options: ClientOptions) => {
    const { client, output } = openSession(options)
    const { artifacts } = await client.runs.retrieve(run_id)
    if (output.format === 'json') return output.json({ run_id, artifacts })
    if (output.format === 'ndjson') return artifacts.forEach(output.json)
    if (artifacts.length === 0) return output.note('The run has made nothing that is kept.')
    for (const artifact of artifacts) {
      const described = oneLine(describeArtifact(artifact))
      // Elsewhere a patch is read by `runyard diff`, and is called by no id.
      const is_patch = artifact.artifact_type === 'FILE' && artifact.data.diff
      output.line(is_patch ? `${oneLine(artifact.data.artifact_uid)}  ${described}` : described)
    }
  })

  addClientOptions(
    group
      .command('save <run-id>')
      .description('Downloads all files that a run made: pictures, plans and patches, too.')
      .option(
        '--to <folder>',
        'where to; made when it is missing; default: runyard- and the end of the run’s id',
      )
      .option('--force', 'replace files that are there'),
  ).action(async (run_id: string, { to, force = false, ...options }: SaveOptions) => {
    const { client, output } = openSession(options)
    const { artifacts } = await client.runs.retrieve(run_id)
    const uids = artifacts.flatMap(keptAs)
    if (uids.length === 0) throw new CommandFailure('The run has made no files that are kept.')
    const folder = to ?? `runyard-${shortId(run_id)}`
    makeFolder(folder)
    const found: ArtifactResponse[] = []
    for (const uid of uids) found.push(await client.artifacts.retrieve(uid))
    const names = giveNames(found.map(({ data }) => data.filename))
    const saved: Array<ArtifactResponse & { file: string }> = []
    const failures: string[] = []
    // One after the other: a run may have made gigabytes.
    for (const [at, { artifact_uid }] of found.entries()) {
      const file = join(folder, names[at] ?? artifact_uid)
      try {
        // Asked for again: a link ends in some minutes.
        const artifact = await client.artifacts.retrieve(artifact_uid)
        await download(artifact, file, { force, output })
        saved.push({ ...artifact, file })
        if (output.format === 'text') output.line(`${file} (${formatSize(artifact.data.size_bytes)})`)
        if (output.format === 'ndjson') output.json({ ...artifact, file })
      } catch (error) {
        failures.push(`${file}: ${oneLine(explain(error).message)}`)
      }
    }
    if (output.format === 'json') output.json({ run_id, artifacts: saved })
    for (const failure of failures) output.note(output.colors.red(failure))
    if (failures.length > 0)
      throw new CommandFailure(`${failures.length} of ${found.length} files were not saved.`, {
        hint: 'files that are there are replaced by --force',
      })
  })

  addClientOptions(
    group
      .command('open <uid>')
      .description(
        'Prints a link to an artifact, which works for some minutes. On a terminal it opens the browser, too.',
      )
      .option('--print', 'only print the link'),
  ).action(async (uid: string, { print, ...options }: ClientOptions & { print?: boolean }) => {
    const { client, output } = openSession(options)
    const artifact = await client.artifacts.retrieve(uid)
    if (output.format !== 'text') return output.json(artifact)
    const { download_url } = artifact.data
    output.line(oneLine(download_url))
    if (print || !currentProcess().stdout.isTTY || !/^https?:/i.test(download_url)) return
    await openBrowser(download_url, output)
  })

  addClientOptions(
    group
      .command('get <uid>')
      .description('Downloads an artifact. `runyard artifacts list RUN_ID` has those of a run.')
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

/** The id of its file; empty for artifacts without one, such as a pull request. */
const keptAs = ({ artifact_type, data }: RunItem['artifacts'][number]): string[] => {
  if (artifact_type === 'PULL_REQUEST' || artifact_type === 'EXTERNAL_REFERENCE') return []
  return 'artifact_uid' in data && data.artifact_uid ? [data.artifact_uid] : []
}

/** Throws for a place where a file is, or that nobody may write to. */
function makeFolder(folder: string): void {
  try {
    mkdirSync(resolvePath(folder), { recursive: true })
  } catch (error) {
    throw usageFailure(`${folder} cannot be made: ${error instanceof Error ? error.message : error}`)
  }
}

/**
 * A different name for each file, also on file systems that ignore case. The first of several files with the same name keeps it; the
 * others get a number, and never the name of another file.
 */
function giveNames(filenames: readonly string[]): string[] {
  const safe = filenames.map(safeFileName)
  const reserved = new Set(safe.map((name) => name.toLowerCase()))
  const given = new Set<string>()
  return safe.map((name) => {
    const extension = extensionOf(name)
    const stem = name.slice(0, name.length - extension.length)
    let free = name
    for (let count = 2; given.has(free.toLowerCase()); count += 1) {
      const next = `${stem}-${count}${extension}`
      if (!reserved.has(next.toLowerCase())) free = next
    }
    given.add(free.toLowerCase())
    return free
  })
}
