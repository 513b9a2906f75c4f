import { collectExec, type Sandbox, SandboxFault } from '../sandbox/sandbox.ts'
import type { Commits } from '../store/sandboxes.ts'
import { KNOWN_COMMITS } from './clone-scripts.ts'

const LOOK_MS = 60_000
/** Of each kind that is named. */
const SHOWN = 20
const LOOKED_AT = 500

/** Work of an agent that no comparison of the checked-out files with the cloned commit sees. */
export interface OutsideWork {
  directory: string
  base_commit: string | null
  /** As people call it: `branch fix (2 commits, 1a2b3c4d)`. The same work has the same words. */
  parts: string[]
}

/** It is more than may be kept. */
export class BundleTooLarge extends Error {
  override name = 'BundleTooLarge'
}

/**
 * What the repositories of a workspace hold beside what is checked out in them and what they were cloned with: commits on other
 * branches, tags, stashes, and in linked worktrees, which may have uncommitted changes too, and commits that a detached HEAD has
 * left. What is on a remote is none of it. Not `is_whole`: looking ended too soon, and there may be more. Writes nothing to the repositories. Throws `SandboxFault`.
 */
export async function findOutsideWork(
  sandbox: Sandbox,
  commits: Commits,
  signal: AbortSignal,
  timeout_ms = LOOK_MS,
): Promise<{ works: OutsideWork[]; is_whole: boolean }> {
  const stdin = Object.entries(commits).map(([directory, base]) => `${directory} ${base ?? ''}\n`)
  const { stdout, exit } = await collectExec(
    sandbox.exec({
      ...{ command: SCRIPT, cwd: '/workspace', env: { MODE: 'list' }, stdin: stdin.join('') },
      ...{ timeout_ms, signal },
    }),
  )
  const found = new Map<string, string[]>()
  for (const line of stdout.toString().split('\n')) {
    const [directory = '', kind = '', name = '', id = '', count = ''] = line.split('\t')
    if (!Object.hasOwn(commits, directory) || id === '') continue
    const parts = found.get(directory) ?? []
    found.set(directory, [...parts, describe(kind, name, id, Number(count))])
  }
  const works = [...found].map(([directory, parts]) => ({
    ...{ directory, parts, base_commit: commits[directory] ?? null },
  }))
  return { works, is_whole: exit.code === 0 && !exit.timed_out }
}

function describe(kind: string, name: string, id: string, count: number): string {
  const at = id.slice(0, 8)
  if (kind === 'stash') return `stash@{${name}} (${at})`
  if (kind === 'changes') return `what is not committed in the worktree ${name} (${at})`
  const commits = `${count} ${count === 1 ? 'commit' : 'commits'}, ${at}`
  return kind === 'left' ? `a detached HEAD (${commits})` : `${kind} ${name} (${commits})`
}

/** All of it as a bundle, which has what the repository was cloned with as its prerequisite. Throws `BundleTooLarge`, `SandboxFault`. */
export async function* bundleOutsideWork(
  sandbox: Sandbox,
  { directory, base_commit }: OutsideWork,
  { max_bytes, signal }: { max_bytes: number; signal: AbortSignal },
): AsyncGenerator<Uint8Array> {
  const handle = sandbox.exec({
    ...{ command: SCRIPT, cwd: '/workspace', env: { MODE: 'bundle' } },
    stdin: `${directory} ${base_commit ?? ''}\n`,
    ...{ timeout_ms: LOOK_MS, max_output_bytes: Number.POSITIVE_INFINITY, signal },
  })
  let bytes = 0
  try {
    for await (const { stream, data } of handle.output) {
      if (stream === 'stderr') continue
      bytes += data.length
      if (bytes > max_bytes) throw new BundleTooLarge()
      yield data
    }
    const { code, timed_out } = await handle.exit
    if (code !== 0 || bytes === 0)
      throw new SandboxFault(`Bundling ended with ${timed_out ? 'a timeout' : code}.`)
  } finally {
    await handle.kill()
  }
}

/**
 * Lines of \`tips\` are KIND, NAME, ID and COUNT, by tabs; the kinds are in a bundle as refs. What is not committed in a worktree
 * becomes a commit in a store of objects of our own, with the dates of the commit below it: the same changes have the same id.
 */
const SCRIPT = `export LC_ALL=C GIT_OPTIONAL_LOCKS=0 GIT_NO_REPLACE_OBJECTS=1
unset CDPATH GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
workspace=$PWD
kept=$(mktemp -d /tmp/outside-XXXXXX) || exit 92
trap 'rm -rf "$kept"' EXIT
safe() { git -c core.fsmonitor=false -c core.hooksPath=/dev/null "$@"; }
known() {
  [ -z "$base" ] || echo "^$base"
  sed 's/^/^/' "$common/${KNOWN_COMMITS}" 2>/dev/null
  safe for-each-ref --format='^%(objectname)' refs/remotes
}
# Names what has commits that are neither known nor checked out.
tell() {
  n=$({ echo "$3"; known; [ -z "$head" ] || echo "^$head"; } | safe rev-list --count --ignore-missing --stdin 2>/dev/null)
  [ "\${n:-0}" -gt 0 ] && printf '%s\\t%s\\t%s\\t%s\\n' "$1" "$2" "$3" "$n"
}
uncommitted() {
  path=$(cat "$common/worktrees/$1/gitdir") || return
  # Newer gits may write it from there.
  case "$path" in /*) ;; *) path=$common/worktrees/$1/$path ;; esac
  path=\${path%/.git}
  [ -d "$path" ] || return
  [ -n "$(safe -C "$path" status --porcelain | head -n 1)" ] || return
  (
    export GIT_OBJECT_DIRECTORY="$kept/objects" GIT_ALTERNATE_OBJECT_DIRECTORIES="$common/objects" GIT_INDEX_FILE="$kept/index"
    mkdir -p "$GIT_OBJECT_DIRECTORY"
    rm -f "$GIT_INDEX_FILE"
    cp -p "$common/worktrees/$1/index" "$GIT_INDEX_FILE" 2>/dev/null
    cd -- "$path" && safe add --all 2>/dev/null
    date=$(safe show --no-patch --format=%cI HEAD)
    export GIT_AUTHOR_DATE="$date" GIT_COMMITTER_DATE="$date"
    tree=$(safe write-tree) && echo "Not committed in the worktree $1" | safe commit-tree "$tree" -p HEAD
  )
}
# Names of one kind that were not there at first. A process for each would take minutes in a repository with many.
named() {
  safe for-each-ref --format='%(objectname)%09%(refname:lstrip=2)' "$1" | grep -vF -f "$kept/first" | head -n ${LOOKED_AT} |
    while IFS="$tab" read -r id name; do tell "$2" "$name" "$id"; done | head -n ${SHOWN}
}
tips() {
  cat "$common/${KNOWN_COMMITS}" > "$kept/first" 2>/dev/null
  if [ -n "$({ safe for-each-ref --format='%(objectname)' refs/heads refs/tags; known; [ -z "$head" ] || echo "^$head"; } |
    safe rev-list --max-count=1 --ignore-missing --stdin 2>/dev/null)" ]; then
    named refs/heads branch
    named refs/tags tag
  fi
  place=0
  safe stash list --format=%H 2>/dev/null | head -n ${SHOWN} | while read -r id; do tell stash "$place" "$id"; place=$((place + 1)); done
  for folder in "$common"/worktrees/*/; do
    [ -d "$folder" ] || continue
    name=$(basename "$folder")
    id=$(safe rev-parse --verify --quiet "worktrees/$name/HEAD^{commit}") || continue
    [ -n "$(safe for-each-ref --points-at "$id" --format=x refs/heads | head -n 1)" ] || tell worktree "$name" "$id"
    changes=$(uncommitted "$name")
    [ -z "$changes" ] || printf 'changes\\t%s\\t%s\\t1\\n' "$name" "$changes"
  done
  safe reflog show --format=%gs HEAD 2>/dev/null | sed -nE 's/^checkout: moving from ([0-9a-f]{40,64}) to .*/\\1/p' | sort -u |
    head -n ${SHOWN} | while read -r id; do
      [ -n "$(safe for-each-ref --contains "$id" --format=x refs/heads refs/tags 2>/dev/null | head -n 1)" ] || tell left "$(echo "$id" | cut -c1-8)" "$id"; done
}
bundle() {
  tips > "$kept/tips"
  [ -s "$kept/tips" ] || exit 93
  id=$(head -n 1 "$kept/tips" | cut -f3)
  format=
  [ \${#id} -le 40 ] || format=--object-format=sha256
  git init --quiet --bare $format "$kept/git" && mkdir -p "$kept/objects" || exit 92
  printf '%s\\n%s\\n' "$common/objects" "$kept/objects" > "$kept/git/objects/info/alternates"
  [ ! -f "$common/shallow" ] || cp "$common/shallow" "$kept/git/shallow"
  sed -E 's|^branch.|create refs/heads/|; s|^tag.|create refs/tags/|; s|^stash.|create refs/stashes/|; s|^left.|create refs/left/|
    s|^changes.|create refs/changes/|; s|^worktree.|create refs/worktree-heads/|' "$kept/tips" | cut -f1,2 | tr '\\t' ' ' |
    git --git-dir "$kept/git" update-ref --stdin || exit 94
  known > "$kept/known"
  { cut -f3 "$kept/tips"; cat "$kept/known"; } | git --git-dir "$kept/git" rev-list --boundary --ignore-missing --stdin |
    sed -n 's/^-/^/p' > "$kept/edge"
  git --git-dir "$kept/git" bundle create --quiet - --all $(cat "$kept/edge")
}
tab=$(printf '\\t')
while read -r dir base; do
  cd -- "$workspace/$dir" 2>/dev/null && common=$(safe rev-parse --git-common-dir 2>/dev/null) && common=$(cd -- "$common" && pwd -P) || continue
  head=$(safe rev-parse --verify --quiet 'HEAD^{commit}')
  if [ "$MODE" = bundle ]; then bundle; exit; fi
  # Line by line: what is found before the time is up is told.
  tips | while IFS= read -r line; do printf '%s\\t%s\\n' "$dir" "$line"; done
done`
