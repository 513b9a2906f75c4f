/**
 * How repositories come into a workspace: scripts for the shell inside a sandbox. Values come by the environment, never as part
 * of the command, and after --end-of-options.
 */
import { TRAILER } from './repository-export.ts'

/** What was there before the agent, by ids of commits: below the folder of git, where it is in nobody's way. */
export const KNOWN_COMMITS = 'runyard-base'
/** Branches that a refusal names. */
const SHOWN = 20

/** Says of large files that they are not there, where the repository has any: nobody would know why they are so short. */
const NOTE_POINTERS = `note_pointers() {
  if git grep --quiet --cached -e filter=lfs -- .gitattributes '**/.gitattributes' 2>/dev/null
  then echo "Files of Git LFS are here as pointers, without their contents: $1"; fi
}`

/** `absent WHAT`: ends with what is there instead; lines of \`branches\` are names. */
const ABSENT = `shown() { branches | head -n ${SHOWN} | tr '\\n' ' ' | sed 's/ *$//; s/ /, /g'; }
absent() {
  there=$(shown)
  echo "There is no $1 in the repository. \${there:+It has the branches $there.}" >&2
  exit 1
}`

const KEEP_KNOWN = `git for-each-ref --format='%(objectname)' | sort -u > "$(git rev-parse --git-dir)/${KNOWN_COMMITS}"`

/** What a ref is, as far as its letters say: the beginning of an id may be a name as well. */
export function kindOfRef(ref: string): 'none' | 'branch' | 'whole' | 'id' | 'beginning' | 'name' {
  if (ref === '' || ref === 'HEAD') return 'none'
  if (ref.startsWith('refs/heads/')) return 'branch'
  if (ref.startsWith('refs/')) return 'whole'
  if (/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/i.test(ref)) return 'id'
  return /^[0-9a-f]{4,63}$/i.test(ref) ? 'beginning' : 'name'
}

/**
 * Clones $URL. An address names no commit by the beginning of its id, so that is looked up among the ids of all commits, which
 * come without any file. Submodules whose addresses are of ssh are asked for by https.
 */
export const CLONE_URL = `set -e
${NOTE_POINTERS}
branches() { git ls-remote --quiet --heads --end-of-options "$URL" | sed 's|^[0-9a-f]*.refs/heads/||'; }
${ABSENT}
set --
lfs=
if [ -n "$LFS" ] && git lfs version >/dev/null 2>&1; then
  lfs=1
  set -- -c 'filter.lfs.clean=git-lfs clean -- %f' -c 'filter.lfs.smudge=git-lfs smudge -- %f' \\
    -c 'filter.lfs.process=git-lfs filter-process' -c filter.lfs.required=true
fi
id_of() { git ls-remote --quiet --end-of-options "$URL" "$1" | sed -n "s|^\\([0-9a-f]*\\).refs/|\\1 refs/|p" | while read -r id name; do
  [ "$name" != "$1" ] || echo "$id"; done; }
pin() {
  format=
  [ \${#1} -le 40 ] || format=--object-format=sha256
  git init --quiet $format -- "$DIR"
  cd -- "$DIR"
  [ -z "$lfs" ] || git lfs install --local >/dev/null
  git remote add origin "$URL"
  git fetch --quiet \${DEPTH:+--depth "$DEPTH"} --end-of-options origin "$2"
  git checkout --quiet --detach FETCH_HEAD
}
by_name() {
  git clone --quiet "$@" \${DEPTH:+--depth "$DEPTH"} --branch "$name" --end-of-options "$URL" "$DIR" || {
    [ -n "$(id_of "refs/heads/$name")$(id_of "refs/tags/$name")" ] || absent "$what $name"
    exit 1
  }
  cd -- "$DIR"
}
name=$REF
what='branch or tag'
case "$KIND" in
  none)
    git clone --quiet "$@" \${DEPTH:+--depth "$DEPTH"} --end-of-options "$URL" "$DIR"
    cd -- "$DIR" ;;
  branch)
    name=\${REF#refs/heads/}
    what=branch
    by_name "$@"
    [ "$(git symbolic-ref --quiet HEAD)" = "$REF" ] || absent "branch $name" ;;
  whole)
    id=$(id_of "$REF")
    [ -n "$id" ] || absent "ref $REF"
    pin "$id" "$REF" ;;
  id)
    pin "$REF" "$REF" || { ! git ls-remote --quiet --end-of-options "$URL" HEAD >/dev/null 2>&1 || absent "commit $REF"; exit 1; } ;;
  *)
    if [ "$KIND" = name ] || [ -n "$(id_of "refs/heads/$REF")$(id_of "refs/tags/$REF")" ]; then by_name "$@"
    else
      found=$(mktemp -d "$PWD/.ids-XXXXXX")
      trap 'rm -rf "$found"' EXIT
      git clone --quiet --bare --filter=tree:0 --end-of-options "$URL" "$found" 2>/dev/null ||
        git clone --quiet --bare --end-of-options "$URL" "$found"
      ids=$(git -C "$found" rev-list --all | grep "^$ID" | head -n 2 || true)
      rm -rf "$found"
      case "$ids" in
        '') absent "branch, tag or commit $REF" ;;
        *?[!0-9a-f]?*) echo "$REF is the beginning of several commits. Write more of the one that is meant." >&2; exit 1 ;;
      esac
      pin "$ids" "$ids"
    fi ;;
esac
if ! git rev-parse --verify --quiet 'HEAD^{commit}' >/dev/null; then
  if [ -z "$(git ls-remote --quiet --end-of-options "$URL" | head -n 1)" ]; then echo 'The repository is empty: it has no commit yet.'
  else
    there=$(shown)
    echo "The HEAD of the repository names the branch $(git symbolic-ref --quiet --short HEAD), and there is no such branch: say as ref what is to be cloned. \${there:+It has the branches $there.}" >&2
    exit 1
  fi
fi
{ git lfs version && git config --get filter.lfs.smudge; } >/dev/null 2>&1 ||
  note_pointers 'git-lfs is not in the image, or not set up there (git lfs install --system).'
${KEEP_KNOWN}
by_https() {
  git config --null --get-regexp '^submodule[.].*[.]url$' | tr '\\n\\0' '\\t\\n' | while IFS="$(printf '\\t')" read -r key address; do
    https=$(printf %s "$address" | sed -nE \\
      -e 's#^(ssh|git[+]ssh|ssh[+]git|git)://([^@/]*@)?(\\[[^]]*\\]|[^:/]+)(:[0-9]*)?/+(.*)$#https://\\3/\\5#p;t' \\
      -e 's#^[^@:/]+@([^:/]+):/*([^/].*)$#https://\\1/\\2#p' | sed 's#^https://ssh[.]github[.]com/#https://github.com/#; s#^https://alt\\(ssh[.]\\)#https://#')
    [ -z "$https" ] || git config "$key" "$https"
  done
}
submodules() {
  [ -f .gitmodules ] || return 0
  git submodule --quiet init && by_https && git submodule --quiet update \${DEPTH:+--depth "$DEPTH"} || return 1
  git submodule --quiet foreach 'pwd' | while IFS= read -r folder; do (cd -- "$folder" && submodules) || exit 1; done
}
[ -z "$SUBMODULES" ] || submodules`

/** `ls-remote` ends with 2 where there is none. */
export const RESTORE_BRANCH = `set -e
cd -- "./$DIR"
git ls-remote --quiet --exit-code --end-of-options "$URL" "$REF" >/dev/null || { [ $? -eq 2 ] && exit 0; exit 1; }
git fetch --quiet --end-of-options "$URL" "$REF"
git reset --quiet --hard FETCH_HEAD`

/**
 * Makes a repository of a bundle, behind one line with the commit at HEAD and the name of its branch, if it is on one: what HEAD
 * names a bundle does not say. Nothing is made, or said, of half a bundle.
 */
export const CLONE_BUNDLE = `set -e
${NOTE_POINTERS}
branches() { git for-each-ref --format='%(refname:lstrip=2)' refs/heads; }
${ABSENT}
bundle=$(mktemp "$PWD/.bundle-XXXXXX")
trap 'rm -f "$bundle"' EXIT
read -r id head
cat > "$bundle"
tail -c ${TRAILER.length} "$bundle" | grep -qx ${TRAILER.trim()}
truncate -s $(($(wc -c < "$bundle") - ${TRAILER.length})) "$bundle"
format=
[ \${#id} -le 40 ] || format=--object-format=sha256
git init --quiet $format -- "$DIR"
cd -- "$DIR"
git fetch --quiet --no-tags --update-head-ok "$bundle" HEAD '+refs/heads/*:refs/heads/*' '+refs/tags/*:refs/tags/*'
rm -f .git/FETCH_HEAD
case "$KIND" in
  none) ;;
  branch) head=$REF ;;
  *) head=refs/heads/$REF ;;
esac
if git show-ref --verify --quiet "$head"; then git symbolic-ref HEAD "$head"
else
  if [ "$KIND" != none ]; then
    [ "$KIND" != branch ] || absent "branch \${REF#refs/heads/}"
    id=$(git rev-parse --verify --quiet "$REF^{commit}") || absent "branch, tag or commit $REF"
  fi
  git update-ref --no-deref HEAD "$id"
fi
git reset --quiet --hard
note_pointers 'a local repository is brought without them.'
${KEEP_KNOWN}`
