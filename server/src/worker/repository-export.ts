/**
 * A local repository as a bundle. A repository's own files can make git read any file and run any program, so git never
 * runs on them on the host, and nobody is told what it says about them: what it needs is copied into a sandbox of its
 * own and bundled there.
 */
import { PassThrough, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Sandbox, SandboxFault, type SandboxLimits } from '../sandbox/sandbox.ts'
import type { WorkerContext } from './context.ts'
import { describeProblem, ExportFailed, type ExportProblem } from './export-failure.ts'
import type { LocalRepository } from './local-repository.ts'
import { copyRepository } from './repository-copy.ts'
import { SetupFailed } from './setup-step.ts'

const COPY = '/workspace/repository'
/** Characters kept of what git said. */
const SAID = 2_000

/** Follows a whole bundle: a stream that breaks off and one that ends look the same to the command that reads it. */
export const TRAILER = 'whole\n'

export interface RepositoryExport {
  /** A line with the commit at HEAD and its branch, the bundle and, if it is whole, TRAILER; whoever destroys it stops the export. */
  bundle: Readable
  /** Why there is no whole bundle, `null` when there is or its reader left. Resolves when nothing is left of the export. */
  finished: Promise<Error | null>
}

/** The name of a run's export, so that whoever finds one left over knows whose it was. */
export const exportId = (run_id: string, place: number): string => `${run_id}.export-${place}`

/** The run whose export has this name; `null` when the name is a run's own. */
export function runOfExport(id: string): string | null {
  const [run_id = '', place] = id.split('.export-')
  return place === undefined ? null : run_id
}

/** Begins to bundle HEAD, branches and tags, and closes `repository` in the end. */
export function exportRepository(
  context: Pick<WorkerContext, 'backend' | 'warden' | 'log'>,
  repository: LocalRepository,
  options: { id: string; attempt: number; limits: SandboxLimits; signal: AbortSignal },
): RepositoryExport {
  const { log } = context
  const bundle = new PassThrough()
  const left = new AbortController()
  bundle.once('close', () => left.abort())
  // Its reader hears of it, and so does whoever awaits `finished`.
  bundle.on('error', () => {})
  const signal = AbortSignal.any([options.signal, left.signal])

  const failureOf = (error: unknown): Error | null => {
    if (error instanceof SandboxFault) return error
    const stopped = options.signal.aborted
    if (!(error instanceof ExportFailed) && left.signal.aborted && !stopped) return null
    const { problem, said } =
      error instanceof ExportFailed && !stopped ? error : new ExportFailed('too long', String(error))
    log.warn({ export: options.id, problem, said }, 'A local repository could not be read.')
    return new SetupFailed(describeProblem(problem, repository.name))
  }
  const finished = bundleInto(bundle, context, repository, { ...options, signal })
    .then(
      () => null,
      (error: unknown) => {
        const failure = failureOf(error)
        bundle.destroy(failure ?? undefined)
        return failure
      },
    )
    .finally(() => repository.close())
  return { bundle, finished }
}

async function bundleInto(
  bundle: PassThrough,
  { backend, warden, log }: Pick<WorkerContext, 'backend' | 'warden' | 'log'>,
  repository: LocalRepository,
  {
    id,
    attempt,
    limits,
    signal,
  }: { id: string; attempt: number; limits: SandboxLimits; signal: AbortSignal },
): Promise<void> {
  // On the operator's image: a member's own would be shown what a bundle leaves out.
  const egress = backend.capabilities.egress.includes('none') ? 'none' : 'open'
  const sandbox = await backend.create({ run_id: id, attempt, limits, egress, env: {} })
  warden.watch(sandbox.ref)
  try {
    await copyRepository(repository, sandbox, COPY, signal)
    await pipeline(readBundle(sandbox, limits.disk_bytes, signal), bundle)
  } catch (error) {
    // A fault may quote what was printed, and runs show faults.
    throw error instanceof SandboxFault
      ? new SandboxFault('the one in which a local repository is read broke off', { cause: error })
      : error
  } finally {
    await sandbox.destroy().then(
      () => warden.unwatch(sandbox.ref),
      (error) =>
        log.warn({ err: error, ...sandbox.ref }, 'Removing a sandbox failed; the reaper tries again.'),
    )
  }
}

async function* readBundle(
  sandbox: Sandbox,
  max_bytes: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const handle = sandbox.exec({
    command: BUNDLE,
    cwd: COPY,
    env: GIT_ENV,
    max_output_bytes: Number.POSITIVE_INFINITY,
    signal,
  })
  let said = ''
  let bytes = 0
  try {
    for await (const { stream, data } of handle.output) {
      if (stream === 'stderr') said = (said + Buffer.from(data).toString()).slice(-SAID)
      else {
        bytes += data.length
        if (bytes > max_bytes) throw new ExportFailed('too large', said)
        yield data
      }
    }
    const { code } = await handle.exit
    signal.throwIfAborted()
    if (code !== 0)
      throw new ExportFailed(code === null ? 'too hungry' : (PROBLEMS.get(code) ?? 'not whole'), said)
    yield Buffer.from(TRAILER)
  } finally {
    await handle.kill()
  }
}

/** Exit codes of the script below; the last two are the shell's. */
const PROBLEMS = new Map<number, ExportProblem>([
  [91, 'no commits'],
  [126, 'no git'],
  [127, 'no git'],
])

const GIT_ENV: Record<string, string> = {
  LC_ALL: 'C',
  HOME: '/nonexistent',
  GIT_DIR: '.',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_ALLOW_PROTOCOL: '',
  GIT_NO_LAZY_FETCH: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_TERMINAL_PROMPT: '0',
}

/**
 * Links, pipes and devices go first. Then git gets a configuration of ours: all that the repository's own has to say is how
 * objects and refs are stored, and that shows in the files.
 */
const BUNDLE = `set -e
find . ! -type f ! -type d -exec rm -f -- {} +
format=sha1
! grep -rqsE '^[0-9a-f]{64}' HEAD packed-refs refs || format=sha256
cat > config << END
[core]
	repositoryformatversion = 1
	bare = true
[extensions]
	objectformat = $format
END
[ ! -d reftable ] || echo '	refstorage = reftable' >> config
hardened() {
  git -c safe.directory='*' -c safe.bareRepository=explicit -c protocol.allow=never -c core.hooksPath=/dev/null \\
    -c core.fsmonitor=false "$@"
}
hardened rev-parse --git-dir > /dev/null
head=$(hardened rev-parse --quiet --verify HEAD) || exit 91
# What HEAD names is not in a bundle.
echo "$head $(hardened symbolic-ref --quiet HEAD)"
# A bundle leaves out, without a word, a branch and a tag that share a name, unless they are named in full, which older gits do not take.
names() { hardened for-each-ref --format="$1" refs/heads refs/tags; }
if [ -z "$(names '%(refname:lstrip=2)' | sort | uniq -d | head -n 1)" ]; then hardened bundle create --quiet - HEAD --branches --tags
else names '%(refname)' | hardened bundle create --quiet - HEAD --stdin; fi`
