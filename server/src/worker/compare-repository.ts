import type { Sandbox } from '../sandbox/sandbox.ts'
import { DiffReader, type Room, UnreadableDiff } from './diff-reader.ts'

const COMPARE_MS = 120_000
/** A larger file is not put into a patch: git holds it in memory more than once. */
const LARGE_BYTES = 10 * 1024 ** 2
/** Bytes of a patch after which git is stopped, however little of it is kept. */
const PRINTED_BYTES = 512 * 1024 ** 2
/** Characters kept of what git said. */
const SAID = 2_000

export interface ComparedWith {
  /** Folder below the workspace. */
  directory: string
  /** null: with nothing, since it had no commit. */
  base_commit: string | null
  /** Stands before every path of the patch. */
  prefix: string
  room: Room
  signal: AbortSignal
}

/** `problem`: why it is not all, for people. `said`: what git had to say about it, for the log of the service. */
export interface Comparison {
  reader: DiffReader
  problem: string | null
  said: string
}

/**
 * Compares a repository of the workspace, as it is there now, with the commit it was cloned at: staged, unstaged, untracked
 * and committed, without what git ignores. Runs inside the sandbox, since what the repository configures could run anything,
 * on a copy of the index, and writes nothing to the repository. Yields the patch; returns what it holds. Throws
 * `SandboxFault`.
 */
export async function* compareRepository(
  sandbox: Sandbox,
  { directory, base_commit, prefix, room, signal }: ComparedWith,
): AsyncGenerator<Buffer, Comparison> {
  const reader = new DiffReader(prefix, room)
  const handle = sandbox.exec({
    command: COMPARE,
    cwd: '/workspace',
    env: {
      DIR: directory,
      BASE: base_commit ?? '',
      PREFIX: prefix,
      LARGE: String(LARGE_BYTES),
      // Names in `rename from` and `rename to` have no prefix, so git could not find them below one.
      RENAMES: prefix ? '--no-renames' : '--find-renames',
    },
    timeout_ms: COMPARE_MS,
    // The first half passes as it comes, and nothing is to come after it.
    max_output_bytes: 2 * PRINTED_BYTES,
    signal,
  })
  let said = ''
  let printed = 0
  let stopped: string | null = null
  for await (const { stream, data } of handle.output) {
    if (stopped) continue
    if (stream === 'stderr') {
      said = (said + Buffer.from(data).toString()).slice(-SAID)
      continue
    }
    printed += data.length
    try {
      yield* reader.push(data)
    } catch (error) {
      if (!(error instanceof UnreadableDiff)) throw error
      stopped = error.message
    }
    if (printed > PRINTED_BYTES) stopped = 'too much differs'
    if (stopped) handle.kill().catch(() => {})
  }
  const { code, timed_out } = await handle.exit
  yield* reader.end(code === 0 && !stopped)
  const problem = stopped ?? (timed_out ? 'it took too long' : code === 0 ? null : explain(code))
  return { reader, problem, said }
}

const explain = (code: number | null): string => PROBLEMS[code ?? -1] ?? 'git could not compare all of it'

const PROBLEMS: Record<number, string> = {
  90: 'it is not a git repository any more',
  91: 'it does not hold the commit any more that it was cloned at',
  92: 'there is no room for a copy of its index',
}

/**
 * `diff-index` is plumbing: what people configure about diffs does not change its output. Intent-to-add makes it see
 * untracked files and writes none of their content anywhere. Files that are large or cannot be read would end git in the
 * middle; they are excluded, as many as a command line takes. Values come by the environment, never as part of the command.
 */
const COMPARE = `cd -- "$DIR" 2>/dev/null || exit 90
export GIT_CEILING_DIRECTORIES=/workspace GIT_CONFIG_GLOBAL=/dev/null GIT_OPTIONAL_LOCKS=0 GIT_NO_REPLACE_OBJECTS=1 LC_ALL=C
git() {
  command git -c core.fsmonitor=false -c core.hooksPath=/dev/null -c core.untrackedCache=false \\
    -c core.excludesFile=/dev/null "$@"
}
git rev-parse --git-dir >/dev/null || exit 90
if [ -n "$BASE" ]; then git cat-file -e "$BASE^{commit}" || exit 91
else BASE=$(git hash-object -t tree /dev/null); fi
kept=$(mktemp -d) || exit 92
trap 'rm -rf "$kept"' EXIT
index=$(git rev-parse --git-path index)
export GIT_INDEX_FILE="$kept/index"
if [ -e "$index" ]; then cp -p -- "$index" "$GIT_INDEX_FILE" || exit 92; fi
if ! git update-index -q --really-refresh 2>/dev/null || [ -n "$(git ls-files --unmerged | head -c 1)" ]; then
  rm -f "$GIT_INDEX_FILE"
  git read-tree "$BASE" && git update-index -q --refresh
fi
git add --intent-to-add --ignore-errors -- . >/dev/null 2>&1; printf '%s\\0' $?
git diff-index -z --name-only --no-renames --ignore-submodules=dirty "$BASE" -- | sed -z 's|^|./|' |
  xargs -0 -r sh -c 'find "$@" -maxdepth 0 -type f \\( -size "+$LARGE"c -o ! -readable \\) -print0 2>/dev/null; true' sh |
  head -z -n 300 | sed -z 's|^[.]/|:(top,literal)|' > "$kept/large"
if [ -s "$kept/large" ]; then
  xargs -0 -x -n 300 -s 1900000 git diff-index -z --raw --no-renames "$BASE" -- < "$kept/large"
  sed -z -i 's|^:(top|:(exclude,top|' "$kept/large"
fi
printf '\\0'
xargs -0 -x -n 300 -s 1900000 git -c core.fsmonitor=false diff-index -z --raw --numstat --patch --binary --full-index \\
  "$RENAMES" -l1000 --no-ext-diff --no-textconv --no-color --ignore-submodules=dirty \\
  "--src-prefix=a/$PREFIX" "--dst-prefix=b/$PREFIX" "$BASE" -- . < "$kept/large"`
