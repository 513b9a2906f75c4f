import { type ChildProcess, spawn } from 'node:child_process'
import { lstat } from 'node:fs/promises'
import { addAbortSignal, type Readable } from 'node:stream'
import { type Sandbox, SandboxFileError } from '../sandbox/sandbox.ts'
import { ExportFailed, type ExportProblem } from './export-failure.ts'
import { inside, type LocalRepository } from './local-repository.ts'

/** Characters kept of what a program said. */
const SAID = 2_000

/**
 * All that is copied, refs before what they point to, since somebody may be committing. No configuration, which may hold
 * credentials; no hooks, grafts or indexes; no submodules or large files, which a bundle does not hold.
 */
const MEMBERS = ['refs', 'reftable', 'packed-refs', 'objects']

const PROBLEMS = new Map<string, ExportProblem>([
  ['EFBIG', 'too large'],
  ['ENOSPC', 'no room'],
  ['EDQUOT', 'no room'],
])

/**
 * Copies what git needs of the repository to `target` inside the sandbox. GNU tar opens no device and no pipe, follows no
 * link and reads holes as such. Links, pipes and devices arrive as what they are. Throws `ExportFailed`, `SandboxFault`, or
 * the signal's reason.
 */
export async function copyRepository(
  repository: LocalRepository,
  sandbox: Sandbox,
  target: string,
  signal: AbortSignal,
): Promise<void> {
  const { tar, stdout, stderr } = startTar(repository, await findMembers(repository), signal)
  let said = ''
  stderr.on('data', (data: Buffer) => {
    said = (said + data.toString()).slice(-SAID)
  })
  const exited = new Promise<number | null>((resolve) => {
    tar.once('error', (error) => {
      said += error.message
      resolve(null)
    })
    tar.once('close', resolve)
  })
  // Else the sandbox would take what it has got for all there is, or wait for more.
  addAbortSignal(signal, stdout)
  const [failure, code] = await Promise.all([
    sandbox.importTar(stdout, target).then(
      () => null,
      (error: unknown) => error,
    ),
    exited,
  ])
  signal.throwIfAborted()
  if (failure instanceof SandboxFileError)
    throw new ExportFailed(
      PROBLEMS.get(failure.code) ?? 'not whole',
      `${said}\n${failure.message.slice(-SAID)}`,
    )
  if (failure) throw failure
  // 1: something changed while it was read, as where somebody is at work. git finds out whether what came is whole.
  if (code !== 0 && code !== 1) throw new ExportFailed('not whole', said)
}

async function findMembers({ common }: LocalRepository): Promise<string[]> {
  const found = await Promise.all(
    MEMBERS.map(async (name) => {
      const entry = await lstat(inside(common, name)).catch(() => null)
      return entry && !entry.isSymbolicLink() ? [name] : []
    }),
  )
  return found.flat()
}

function startTar(
  { own, common }: LocalRepository,
  members: string[],
  signal: AbortSignal,
): { tar: ChildProcess; stdout: Readable; stderr: Readable } {
  const args = [
    ...['--create', '--file=-', '--format=gnu', '--sparse', '--one-file-system'],
    ...['--numeric-owner', '--owner=0', '--group=0', '--mode=u=rwX,go='],
    // Says where else there are objects.
    ...['--anchored', '--exclude=objects/info'],
    ...['-C', '/proc/self/fd/3', 'HEAD', '-C', '/proc/self/fd/4', ...members],
  ]
  // A session of its own: a signal to the service's process group is for the service alone.
  const tar = spawn('tar', args, {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', own.fd, common.fd],
    env: { PATH: process.env.PATH, LC_ALL: 'C' },
    cwd: '/',
    signal,
    killSignal: 'SIGKILL',
  })
  const { stdout, stderr } = tar
  if (!stdout || !stderr) throw new Error('tar was started without pipes.')
  return { tar, stdout, stderr }
}
