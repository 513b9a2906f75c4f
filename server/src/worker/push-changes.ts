import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { v7 as uuidv7 } from 'uuid'
import type { EnvironmentRepository } from '../contract/environment-repository.ts'
import { shortBranch } from '../contract/git-ref.ts'
import type { BranchAnswer, BranchRequest, Egress } from '../gateway/gateway.ts'
import type { PushOutcome, PushRequest } from '../harness/tool-services.ts'
import { type Collected, collectExec } from '../sandbox/sandbox.ts'
import type { Push } from '../store/pushes.ts'
import type { WorkerContext } from './context.ts'
import type { FencedStore } from './fenced-store.ts'
import { branchOf, pushableOf, readRepositoryAddress } from './git-plan.ts'
import { findIdenticalPull, inTurn, type Publish } from './identical-pull.ts'
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
 * Pushes what the run changed as the run's branch, and opens a pull request for it where that is asked for, unless that of
 * another run is open with the same files: of every repository that goes by the gateway, or of one. What is not committed is committed first, in the workspace. Throws
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

type Failure = Extract<BranchAnswer, { failure: string }>

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
): Promise<Push | Failure | null> {
  const { host, path } = readRepositoryAddress(repository.url)
  const name = `${host}/${path}`
  const branch = branchOf(store.lease.run_id)
  // What was found at another run is none of what this one has pushed.
  const own = before?.branch === branch ? before : null
  const refused = (await refusals()).length
  // An agent may write down there what is hidden everywhere else.
  const [title, body] = [mask(request.title), mask(request.body ?? '')]
  const git = (more: Record<string, string>) =>
    collectExec(
      sandbox.exec({
        command: PUSH,
        cwd: '/workspace',
        env: {
          ...{ DIR: directory, URL: repository.url, BRANCH: branch },
          BASE: commits[directory] ?? '',
          LAST: own?.commit ?? '',
          // An empty commit is a change of a branch, and none that a pull request could show.
          ONLY_CHANGES: request.pull_request ? '1' : '',
          ONLY_COMMIT: '',
          GIT_TERMINAL_PROMPT: '0',
          ...more,
        },
        stdin: `${title}\n`,
        timeout_ms: PUSH_MS,
        signal,
      }),
    )
  const publish: Publish = (of, wanted) =>
    Promise.race([egress.publish({ host, path, branch: of, ...wanted }), stopped(signal)])
  const pull_request = { base: repository.ref ? shortBranch(repository.ref) : null, title, body }
  const isKnown = (found: Push) => found.commit === before?.commit && found.url === before.url
  const record = async (result: Push, tree: string): Promise<void> => {
    if (isKnown(result)) return
    await store.recordPush({ ...result, tree, artifact_uid: uuidv7() })
    store.touch()
  }
  const push = async (): Promise<Push | Failure | null> => {
    const printed = await untilAnswered(() => git({}), signal)
    if (printed.exit.code === NOTHING) return null
    const [commit, tree = ''] = readIds(printed)
    if (printed.exit.code !== 0 || !commit) {
      const told = (await refusals()).slice(refused)
      const { said, why, retryable } = explain(printed, told, mask)
      context.log.warn({ ...store.lease, repository: name, said }, 'A branch could not be pushed.')
      return { failure: `Pushing ${branch} to ${name} failed. ${why}`.trim(), retryable }
    }
    const is_new = commit !== own?.commit || (request.pull_request && !own.pull_request)
    if (request.only_new && !is_new) return null
    const { answer, result } = await publishPushed(publish, {
      ...{ branch, commit, own },
      ...(request.pull_request && is_new ? { wanted: pull_request } : {}),
      place: { directory, repository: name },
    })
    if (!result) return answer
    await record(result, tree)
    return 'failure' in answer ? answer : result
  }

  const tree = request.pull_request && !own ? readIds(await git({ ONLY_COMMIT: '1' }))[1] : undefined
  if (tree === undefined) return push()
  return inTurn(store, { repository: name, tree }, signal, async () => {
    const place = { repository: name, directory, wanted: pull_request }
    const linked = await findIdenticalPull(
      await store.findPushedPulls({ repository: name, tree }),
      publish,
      place,
    )
    if (!linked) return push()
    await record(linked, tree)
    return request.only_new && isKnown(linked) ? null : linked
  })
}

/**
 * Shows where a branch is, and opens its pull request where one is wanted. `result`: what is there by now, whatever became of the
 * pull request, and the next push is to know of it.
 */
async function publishPushed(
  publish: Publish,
  {
    branch,
    commit,
    own,
    wanted,
    place,
  }: {
    branch: string
    commit: string
    own: Push | null
    wanted?: NonNullable<BranchRequest['pull_request']>
    place: Pick<Push, 'directory' | 'repository'>
  },
): Promise<{ answer: Failure; result: null } | { answer: BranchAnswer; result: Push }> {
  const shown = await publish(branch, { commit })
  if ('failure' in shown) return { answer: shown, result: null }
  const answer = wanted ? await publish(branch, { commit, pull_request: wanted }) : shown
  const { url, pull_request = own?.pull_request } = 'failure' in answer ? shown : answer
  const result = { ...place, branch, commit, url: pull_request?.url ?? url }
  return { answer, result: { ...result, ...(pull_request ? { pull_request } : {}) } }
}

/** Again, a few times, where the host was away. */
async function untilAnswered(push: () => Promise<Collected>, signal: AbortSignal): Promise<Collected> {
  let printed = await push()
  for (const wait_ms of WAITS_MS) {
    if (!isPassing(printed) || signal.aborted) break
    await wait(wait_ms, undefined, { signal }).catch(() => {})
    printed = await push()
  }
  return printed
}

function explain(printed: Collected, told: readonly string[], mask: PushServices['mask']) {
  const { exit, stderr } = printed
  // Masked before it is cut: the end of a value is not known for one.
  const said = mask(stderr.toString()).slice(-SAID).trim().toWellFormed()
  const unsaid = told.filter((refusal) => !said.includes(refusal))
  const why = [...unsaid, exit.timed_out ? 'It took too long.' : said].filter(Boolean).join('\n')
  return { said, why, retryable: exit.timed_out || isPassing(printed) }
}

/** The commit and its tree. */
const readIds = ({ stdout }: Collected): string[] =>
  stdout
    .toString()
    .split('\n')
    .filter((line) => /^[0-9a-f]{40,64}$/.test(line))

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
tree=$(git "$@" rev-parse --verify --quiet 'HEAD^{tree}') || exit 96
if [ -n "$ONLY_CHANGES" ] && [ -z "$known" ] && [ -n "$BASE" ]; then
  [ "$tree" != "$(git "$@" rev-parse --verify --quiet "$BASE^{tree}")" ] || exit ${NOTHING}
fi
[ -z "$ONLY_COMMIT" ] || { printf '%s\\n' "$head" "$tree"; exit; }
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
printf '%s\\n' "$head" "$tree"`
