import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { v7 as uuidv7 } from 'uuid'
import type { EnvironmentRepository } from '../contract/environment-repository.ts'
import { shortBranch } from '../contract/git-ref.ts'
import type { Egress } from '../gateway/gateway.ts'
import type { PushOutcome, PushRequest } from '../harness/tool-services.ts'
import { type Collected, collectExec } from '../sandbox/sandbox.ts'
import type { Push } from '../store/pushes.ts'
import type { WorkerContext } from './context.ts'
import type { FencedStore } from './fenced-store.ts'
import { branchOf, pushableOf, readRepositoryAddress } from './git-plan.ts'
import type { Workspace } from './prepare.ts'

const PUSH_MS = 600_000
/** Between tries where the host is away. */
const WAITS_MS = [1_000, 4_000, 10_000]
/** Characters kept of what git said. */
const SAID = 2_000

interface PushServices {
  context: WorkerContext
  store: FencedStore
  egress: Egress
  /** What the gateway refused so far, one sentence each: git says less of it. */
  refusals: () => Promise<readonly string[]>
  mask: (text: string) => string
  signal: AbortSignal
}

/**
 * Pushes what the run changed as the run's branch, and opens a pull request for it where that is asked for: of every
 * repository that goes by the gateway, or of one. What is not committed is committed first, in the workspace. Throws
 * `SandboxFault`.
 */
export async function pushChanges(
  services: PushServices,
  workspace: Workspace,
  request: PushRequest,
): Promise<PushOutcome> {
  const before = await services.store.readPushes()
  const pushed: Push[] = []
  for (const { repository, directory } of pushableOf(workspace)) {
    if (request.directory !== undefined && request.directory !== directory) continue
    const result = await pushRepository(services, workspace, {
      ...{ repository, directory, request },
      before: before.get(directory) ?? null,
    })
    if (result && 'failure' in result) return result
    if (result) pushed.push(result)
  }
  return { pushed }
}

interface OnePush {
  repository: EnvironmentRepository & { url: string }
  directory: string
  request: PushRequest
  before: Push | null
}

/** `null`: there is nothing to push. */
async function pushRepository(
  { context, store, egress, refusals, mask, signal }: PushServices,
  { sandbox, commits }: Workspace,
  { repository, directory, request, before }: OnePush,
): Promise<Push | { failure: string; retryable: boolean } | null> {
  const { host, path } = readRepositoryAddress(repository.url)
  const name = `${host}/${path}`
  const branch = branchOf(store.lease.run_id)
  const refused = (await refusals()).length
  // An agent may write down there what is hidden everywhere else.
  const [title, body] = [mask(request.title), mask(request.body ?? '')]
  const push = () =>
    collectExec(
      sandbox.exec({
        command: PUSH,
        cwd: '/workspace',
        env: {
          ...{ DIR: directory, URL: repository.url, BRANCH: branch },
          BASE: commits[directory] ?? '',
          LAST: before?.commit ?? '',
          GIT_TERMINAL_PROMPT: '0',
        },
        stdin: `${title}\n`,
        timeout_ms: PUSH_MS,
        signal,
      }),
    )
  let printed = await push()
  for (const wait_ms of WAITS_MS) {
    if (!isPassing(printed) || signal.aborted) break
    await wait(wait_ms, undefined, { signal }).catch(() => {})
    printed = await push()
  }
  const { exit, stdout, stderr } = printed
  if (exit.code === NOTHING) return null
  const commit = /^[0-9a-f]{40,64}$/m.exec(stdout.toString())?.[0]
  if (exit.code !== 0 || !commit) {
    // Masked before it is cut: the end of a value is not known for one.
    const said = mask(stderr.toString()).slice(-SAID).trim().toWellFormed()
    const unsaid = (await refusals()).slice(refused).filter((refusal) => !said.includes(refusal))
    const why = [...unsaid, exit.timed_out ? 'It took too long.' : said].filter(Boolean)
    context.log.warn({ ...store.lease, repository: name, said }, 'A branch could not be pushed.')
    const failure = `Pushing ${branch} to ${name} failed. ${why.join('\n')}`.trim()
    return { failure, retryable: exit.timed_out || isPassing(printed) }
  }
  const is_new = commit !== before?.commit || (request.pull_request && !before.pull_request)
  if (request.only_new && !is_new) return null
  const pull_request = { base: repository.ref ? shortBranch(repository.ref) : null, title, body }
  const publish = (more: object) =>
    Promise.race([egress.publish({ host, path, branch, commit, ...more }), stopped(signal)])
  const shown = await publish({})
  if ('failure' in shown) return shown
  const answer = request.pull_request ? await publish({ pull_request }) : shown
  // The branch is there whatever became of its pull request, and the next push is to know of it.
  const { url, pull_request: known = before?.pull_request } = 'failure' in answer ? shown : answer
  const result: Push = {
    ...{ directory, repository: name, branch, commit, url: known?.url ?? url },
    ...(known ? { pull_request: known } : {}),
  }
  if (result.commit !== before?.commit || result.url !== before.url)
    await store.recordPush({ ...result, artifact_uid: uuidv7() })
  context.watch.touchRun(store.lease.run_id)
  return 'failure' in answer ? answer : result
}

/** Whether the host was away, or had a fault of its own: so the gateway tells git, or its answer broke off. */
const isPassing = ({ exit, stderr }: Collected): boolean =>
  exit.code !== 0 && PASSING.test(stderr.toString('latin1'))

const PASSING =
  /returned error: 503|RPC failed; (HTTP 503|curl (18|52|55|56) )|from HTTP 503|unable to access .*: (Empty reply from server|Recv failure|Failed to connect)/

/** What was asked for meanwhile may be done all the same; whoever asks again finds it. */
async function stopped(signal: AbortSignal): Promise<{ failure: string; retryable: boolean }> {
  if (!signal.aborted) await once(signal, 'abort')
  return { failure: 'It was stopped.', retryable: true }
}

/** A command of the agent that was killed may leave a lock of git behind; while a git is at work it may be its own. */
const FREE_LOCK = `free_lock() {
  lock=$(git rev-parse --git-path "$1") || return 1
  for second in 1 2 3 4 5 6 7 8 9 10; do
    [ -e "$lock" ] || return 0
    grep -qsxE 'git(-.*)?' /proc/[0-9]*/comm || { rm -f -- "$lock"; return; }
    sleep 1
  done
}`

/** The exit code that says that nothing was changed. */
const NOTHING = 3
/**
 * Hooks of the repository are its own tests' business; that of Git LFS, which sends large files, has its place here. A branch that somebody else has pushed to is not overwritten. What this
 * run pushed itself is, where it has been rewritten since: a workspace that does not hold it has rewritten nothing. Values come
 * by the environment, never as part of the command.
 */
const PUSH = `${FREE_LOCK}
cd -- "./$DIR" || exit 90
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
export LC_ALL=C
set -- -c core.hooksPath=/dev/null -c core.fsmonitor=false -c commit.gpgSign=false -c push.gpgSign=false
free_lock index.lock && free_lock HEAD.lock || exit 95
git "$@" add --all >/dev/null || exit 91
if ! git "$@" diff --cached --quiet; then git "$@" commit --quiet --no-verify --file=- || exit 92; fi
head=$(git "$@" rev-parse --verify --quiet 'HEAD^{commit}') || exit ${NOTHING}
known=
if [ -n "$LAST" ] && git "$@" cat-file -e "$LAST^{commit}" 2>/dev/null; then known=1; fi
[ "$head" != "$BASE" ] || [ -n "$known" ] || exit ${NOTHING}
flags='--quiet --no-verify --no-follow-tags --recurse-submodules=no'
if [ "$head" != "$LAST" ]; then
  if git lfs version >/dev/null 2>&1 && git "$@" grep --quiet -e filter=lfs HEAD -- .gitattributes '**/.gitattributes'; then
    remote=$URL
    [ "$(git config --get remote.origin.url)" != "$URL" ] || remote=origin
    git "$@" lfs push "$remote" HEAD >/dev/null || exit 94
  fi
  said=$(git "$@" push $flags --end-of-options "$URL" "HEAD:refs/heads/$BRANCH" 2>&1) ||
    { [ -n "$known" ] &&
      git "$@" push $flags "--force-with-lease=refs/heads/$BRANCH:$LAST" --end-of-options "$URL" "HEAD:refs/heads/$BRANCH"; } ||
    { echo "$said" >&2; exit 93; }
fi
echo "$head"`
