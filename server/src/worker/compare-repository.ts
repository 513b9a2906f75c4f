import type { Sandbox } from '../sandbox/sandbox.ts'
import { DiffReader, type Room, UnreadableDiff } from './diff-reader.ts'

/** Bytes that git, and what the repository makes it run, may print before it is stopped, however little of it is kept. */
const PRINTED_BYTES = 256 * 1024 ** 2
const MiB = 1024 ** 2
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
  timeout_ms: number
  signal: AbortSignal
}

/** `problem`: why it is not all, for people. `said`: what git had to say about it, for the log of the service. */
export interface Compared {
  reader: DiffReader
  problem: string | null
  said: string
}

/**
 * Compares a repository of the workspace, as it is there now, with the commit it was cloned at: staged, unstaged, untracked
 * and committed, without what git ignores. Runs inside the sandbox, since what the repository configures could run anything,
 * on a copy of the index, and writes nothing to the repository itself. Yields the patch; returns what it holds. Throws
 * `SandboxFault`.
 */
export async function* compareRepository(
  sandbox: Sandbox,
  { directory, base_commit, prefix, room, timeout_ms, signal }: ComparedWith,
): AsyncGenerator<Buffer, Compared> {
  const reader = new DiffReader(prefix, room)
  const handle = sandbox.exec({
    command: COMPARE,
    cwd: '/workspace',
    env: {
      DIR: directory,
      BASE: base_commit ?? '',
      PREFIX: prefix,
      LARGE: String(room.file_bytes),
      // Names in `rename from` and `rename to` have no prefix, so git could not find them below one.
      RENAMES: prefix ? '--no-renames' : '--find-renames',
    },
    timeout_ms,
    // The first half passes as it comes, and whoever prints more is stopped before that is full.
    max_output_bytes: 2 * (PRINTED_BYTES + MiB),
    signal,
  })
  let said = ''
  let printed = 0
  let stopped: string | null = null
  for await (const { stream, data } of handle.output) {
    if (stopped) continue
    printed += data.length
    try {
      if (stream === 'stderr') said = (said + Buffer.from(data).toString()).slice(-SAID)
      else yield* reader.push(data)
    } catch (error) {
      if (!(error instanceof UnreadableDiff)) throw error
      stopped = error.message
    }
    if (printed > PRINTED_BYTES) stopped = 'too much was printed'
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
  92: 'no copy of its index could be made',
}

/**
 * `diff-index` is plumbing: what people configure about diffs does not change its output. Intent-to-add makes it see
 * untracked files and keeps none of their content. What the index lacks of the base, or holds in several versions after a
 * conflict, is put back as it is in the base, so that the files themselves are compared. Files that are large, are no files or
 * cannot be read would end git in the middle; they are excluded, as many as a command line takes. Nothing but what is meant to
 * be read goes to descriptor 3. Values come by the environment, never as part of the command.
 */
const COMPARE = `exec 3>&1 >/dev/null
unset CDPATH GIT_DIR GIT_WORK_TREE GIT_DIFF_OPTS GIT_EXTERNAL_DIFF GIT_LITERAL_PATHSPECS GIT_GLOB_PATHSPECS \\
  GIT_NOGLOB_PATHSPECS GIT_ICASE_PATHSPECS
export LC_ALL=C GIT_CEILING_DIRECTORIES="$(pwd -P)" GIT_OPTIONAL_LOCKS=0 GIT_NO_REPLACE_OBJECTS=1
cd -- "./$DIR" || exit 90
set -- -c core.fsmonitor=false -c core.hooksPath=/dev/null -c core.untrackedCache=false -c core.splitIndex=false \\
  -c core.excludesFile=/dev/null
up=$(git "$@" rev-parse --show-cdup) && [ -z "$up" ] || exit 90
if [ -n "$BASE" ]; then git "$@" cat-file -e "$BASE^{commit}" || exit 91
else BASE=$(git "$@" hash-object -t tree /dev/null); fi
absolute() { case $1 in /*) echo "$1" ;; *) echo "$PWD/$1" ;; esac; }
kept=$(mktemp -d /tmp/compare-XXXXXX) || exit 92
trap 'rm -rf "$kept"' EXIT
index=$(git "$@" rev-parse --git-path index)
export GIT_ALTERNATE_OBJECT_DIRECTORIES="\\"$(absolute "$(git "$@" rev-parse --git-path objects)")\\""
export GIT_INDEX_FILE="$kept/index" GIT_OBJECT_DIRECTORY="$kept/objects"
mkdir "$GIT_OBJECT_DIRECTORY" || exit 92
if [ -e "$index" ]; then cp -p -- "$index" "$GIT_INDEX_FILE" || exit 92; fi
git "$@" ls-files || rm -f "$GIT_INDEX_FILE"
git "$@" ls-files --unmerged -z | sed -z 's/^[^\\t]*\\t//' | git "$@" update-index -z --force-remove --stdin
git "$@" ls-files -v -z | sed -z -n 's|^[Ss] |./|p' |
  xargs -0 -r sh -c 'find "$@" -maxdepth 0 -print0 2>/dev/null; true' sh |
  git "$@" update-index --no-skip-worktree -z --stdin
git "$@" diff-index --cached -z --raw --no-abbrev --no-renames --diff-filter=D "$BASE" -- |
  sed -z 'N;s/^:\\([0-7]*\\) [0-7]* \\([0-9a-f]*\\) [0-9a-f]* D\\x00/\\1 \\2\\t/' |
  git "$@" update-index -z --index-info
git "$@" update-index -q --really-refresh
git "$@" add --intent-to-add --ignore-errors -- . 2>"$kept/said"
if [ $? -ne 0 ] || grep -q 'Permission denied' "$kept/said"; then printf '1\\0' >&3; else printf '0\\0' >&3; fi
git "$@" diff-index -z --name-only --no-renames --ignore-submodules=dirty "$BASE" -- | sed -z 's|^|./|' |
  xargs -0 -r sh -c 'find "$@" -maxdepth 0 \\( -type f \\( -size "+$LARGE"c -o ! -readable \\) -o ! -type f ! -type l ! -type d \\) -print0 2>/dev/null; true' sh |
  head -z -n 300 | sed -z 's|^[.]/|:(top,literal)|' > "$kept/large"
if [ -s "$kept/large" ]; then
  xargs -0 -x -n 300 -s 1900000 git "$@" diff-index -z --raw --no-renames "$BASE" -- < "$kept/large" >&3
  sed -z -i 's|^:(top|:(exclude,top|' "$kept/large"
fi
printf '\\0' >&3
xargs -0 -x -n 300 -s 1900000 git "$@" diff-index -z --raw --numstat --patch --binary --full-index "$RENAMES" -l1000 \\
  --no-ext-diff --no-textconv --no-color --ignore-submodules=dirty \\
  "--src-prefix=a/$PREFIX" "--dst-prefix=b/$PREFIX" "$BASE" -- . < "$kept/large" >&3`
