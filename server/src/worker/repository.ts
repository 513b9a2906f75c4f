import { basename } from 'node:path'
import type { EnvironmentRepository } from '../contract/environment.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { type RepositoryExport, TRAILER } from './repository-export.ts'
import type { SetupSteps } from './setup-step.ts'

/** Folder below `/workspace`. */
export const directoryOf = (repository: EnvironmentRepository): string => {
  if (repository.directory) return repository.directory
  const path = repository.url ? new URL(repository.url).pathname : (repository.local_path ?? '')
  const name = basename(path.replace(/\/+$/, ''))
    .replace(/\.git$/, '')
    .replace(/[^A-Za-z0-9._-]/g, '-')
    .replace(/^[.-]+/, '')
  return name || 'repository'
}

/** Brings one repository into the workspace. All git work on what a stranger wrote happens inside a sandbox. */
export async function fetchRepository(options: {
  repository: EnvironmentRepository
  sandbox: Sandbox
  steps: SetupSteps
  signal: AbortSignal
  /** Begins to bundle a repository of this machine. */
  openExport: (local_path: string) => Promise<RepositoryExport>
  /** Those of Git LFS are brought along, where the image has `git-lfs`. */
  large_files: boolean
}): Promise<void> {
  const { repository, sandbox, steps, signal } = options
  const env = { REF: repository.ref ?? '', DIR: directoryOf(repository) }
  if (repository.url) {
    const depth = repository.depth ?? 1
    await steps.exec('clone', sandbox, {
      name: repository.url,
      command: CLONE_URL,
      env: {
        ...env,
        URL: repository.url,
        DEPTH: depth === 0 ? '' : String(depth),
        LFS: options.large_files ? '1' : '',
        SUBMODULES: repository.submodules ? '1' : '',
        // What goes by the gateway does so within the sandbox.
        GIT_ALLOW_PROTOCOL: 'https:http',
      },
      signal,
    })
    return
  }
  const local_path = repository.local_path ?? ''
  const { bundle, finished } = await options.openExport(local_path)
  const cloned = steps.exec('clone', sandbox, {
    name: local_path,
    command: CLONE_BUNDLE,
    // A bundle has none of their contents, and a checkout that asks for them fails.
    env: { ...env, GIT_LFS_SKIP_SMUDGE: '1' },
    stdin: bundle,
    signal,
  })
  // Whichever ends badly stops the other, and nothing of the export outlives this.
  const failure = await cloned.then(
    () => null,
    (error: unknown) => error,
  )
  bundle.destroy()
  // A clone of half a bundle says little; what stopped the bundle says why.
  const reason = (await finished) ?? failure
  if (reason) throw reason
}

/** Goes on in a repository just fetched from what the run pushed of it before, where that is still there. */
export async function restoreBranch(options: {
  repository: EnvironmentRepository & { url: string }
  branch: string
  sandbox: Sandbox
  steps: SetupSteps
  signal: AbortSignal
}): Promise<void> {
  const { repository, branch, sandbox, steps, signal } = options
  await steps.exec('restore', sandbox, {
    name: `what was pushed of ${repository.url} as ${branch}, if anything`,
    command: RESTORE_BRANCH,
    env: { DIR: directoryOf(repository), URL: repository.url, REF: `refs/heads/${branch}` },
    signal,
  })
}

/** Says of large files that they are not there, where the repository has any: nobody would know why they are so short. */
const NOTE_POINTERS = `note_pointers() {
  if git grep --quiet --cached -e filter=lfs -- .gitattributes '**/.gitattributes' 2>/dev/null
  then echo "Files of Git LFS are here as pointers, without their contents: $1"; fi
}`

// Values come by the environment, never as part of the command, and after --end-of-options.
const CLONE_URL = `set -e
${NOTE_POINTERS}
set --
lfs=
if [ -n "$LFS" ] && git lfs version >/dev/null 2>&1; then
  lfs=1
  set -- -c 'filter.lfs.clean=git-lfs clean -- %f' -c 'filter.lfs.smudge=git-lfs smudge -- %f' \\
    -c 'filter.lfs.process=git-lfs filter-process' -c filter.lfs.required=true
fi
case "$REF" in
  *[!0-9a-f]*|'') pinned= ;;
  *) [ \${#REF} -eq 40 ] && pinned=1 || pinned= ;;
esac
if [ -n "$pinned" ]; then
  git init --quiet -- "$DIR" && cd -- "$DIR"
  [ -z "$lfs" ] || git lfs install --local >/dev/null
  git remote add origin "$URL"
  git fetch --quiet \${DEPTH:+--depth "$DEPTH"} --end-of-options origin "$REF"
  git checkout --quiet --detach FETCH_HEAD
else
  git clone --quiet "$@" \${DEPTH:+--depth "$DEPTH"} \${REF:+--branch "$REF"} --end-of-options "$URL" "$DIR"
  cd -- "$DIR"
fi
{ git lfs version && git config --get filter.lfs.smudge; } >/dev/null 2>&1 ||
  note_pointers 'git-lfs is not in the image, or not set up there (git lfs install --system).'
[ -z "$SUBMODULES" ] || git submodule --quiet update --init --recursive \${DEPTH:+--depth "$DEPTH"}`

/** `ls-remote` ends with 2 where there is none. */
const RESTORE_BRANCH = `set -e
cd -- "./$DIR"
git ls-remote --quiet --exit-code --end-of-options "$URL" "$REF" >/dev/null || { [ $? -eq 2 ] && exit 0; exit 1; }
git fetch --quiet --end-of-options "$URL" "$REF"
git reset --quiet --hard FETCH_HEAD`

/** Nothing is made, or said, of half a bundle. */
const CLONE_BUNDLE = `set -e
${NOTE_POINTERS}
bundle=$(mktemp "$PWD/.bundle-XXXXXX")
trap 'rm -f "$bundle"' EXIT
cat > "$bundle"
tail -c ${TRAILER.length} "$bundle" | grep -qx ${TRAILER.trim()}
truncate -s $(($(wc -c < "$bundle") - ${TRAILER.length})) "$bundle"
git clone --quiet --no-checkout --end-of-options "$bundle" "$DIR"
cd -- "$DIR"
head=$(git symbolic-ref --quiet --short HEAD || true)
for branch in $(git for-each-ref --format='%(refname:lstrip=3)' refs/remotes/origin); do
  [ "$branch" = HEAD ] || [ "$branch" = "$head" ] || git branch --quiet --no-track -- "$branch" "refs/remotes/origin/$branch"
done
git remote remove origin
if [ -n "$REF" ]; then git checkout --quiet "$REF" --; else git checkout --quiet HEAD --; fi
note_pointers 'a local repository is brought without them.'`
