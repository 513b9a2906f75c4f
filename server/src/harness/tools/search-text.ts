import { collect } from '../collect.ts'
import type { Turn } from '../harness.ts'
import { toPosixPattern } from './search-pattern.ts'

const SEARCH_MS = 60_000
const SEARCH_BYTES = 8 * 1024 ** 2
/** No match, which is an answer. */
const NOTHING = 1
/** Of the script below: neither git nor a `grep` of this sandbox can be asked for Perl's syntax. */
const NO_PERL = 97

export interface Search {
  pattern: string
  /** Absolute. */
  path: string
  ignore_case: boolean
  files_only: boolean
  /** Lines before and after each match. */
  context: number
}

export type SearchEnd =
  | {
      lines: string[]
      is_cut: boolean
      /** What could not be read; files that hold no text that can be searched. */
      left_out: string[]
    }
  | { refusal: string }
  | { aborted: true }

/**
 * Searches by git, which knows what is ignored, takes Perl's syntax and ends lines at CRLF, too; also where there is no
 * repository. Where there is no git, or one without Perl's syntax, by `grep`.
 */
export async function searchText(turn: Turn, search: Search): Promise<SearchEnd> {
  let end = await run(turn, search, 'git')
  if (end.code === NO_PERL || /USE_LIBPCRE/.test(end.stderr)) end = await run(turn, search, 'perl')
  if (end.code === NO_PERL) {
    const posix = toPosixPattern(search.pattern)
    if (posix === null) return { refusal: TOO_SIMPLE }
    const { pattern, ignore_case } = posix
    const plain = { ...search, pattern, ignore_case: ignore_case || search.ignore_case }
    end = await run(turn, plain, 'posix')
  }
  if (end.aborted) return { aborted: true }
  if (end.timed_out)
    return { refusal: `It took longer than ${SEARCH_MS / 1_000} seconds: choose a smaller path.` }
  const lines = end.stdout
    .split('\n')
    // Some print what is no text, too.
    .filter((line) => line !== '' && !line.includes('\0'))
    .map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line))
  const problems = end.stderr.split('\n').filter((line) => line.trim() !== '')
  const closed = problems.filter((line) => /Permission denied$/.test(line) && !/unable to access/.test(line))
  const has_failed = end.code === null || end.code > NOTHING
  if (has_failed && closed.length === 0) return { refusal: explainFailure(problems, end.code) }
  return { lines, is_cut: end.truncated_bytes > 0, left_out: closed.slice(0, 1) }
}

/** Files in UTF-16, which no search by lines of bytes can find anything in, and why the one file that was named is none of text. */
export async function findUnsearched(turn: Turn, path: string): Promise<string[]> {
  const { stdout } = await collect(turn, {
    command: UNSEARCHED,
    cwd: '/',
    env: { PLACE: path },
    timeout_ms: SEARCH_MS,
  })
  return stdout.split('\n').filter((line) => line !== '')
}

const TOO_SIMPLE =
  'The pattern was not understood: this sandbox has neither git nor a grep that knows the syntax of Perl. Write it without lookarounds, names, possessive repeats and backslashes that POSIX does not know; or search with bash.'

function explainFailure(problems: readonly string[], code: number | null): string {
  const [first = `the search ended with exit code ${code}`] = problems
  if (/match limit exceeded|backtracking limit|error code -47/.test(first))
    return `The search was given up: trying the pattern on one of the lines takes too long. Avoid repeats within repeats. (${first})`
  const syntax =
    /^fatal: -e option, '.*': (.+)$/s.exec(problems.join('\n'))?.[1] ??
    /^(?:\S*\/)?grep: (?:bad regex '.*': )?(.+)$/s.exec(first)?.[1]
  if (syntax !== undefined)
    return `The pattern was not understood: ${syntax}. It is a regular expression in Perl's syntax: before ( ) [ ] { } . * + ? | ^ $ that are meant as they are stands a backslash.`
  return problems.slice(0, 5).join('\n') || first
}

async function run(turn: Turn, search: Search, program: 'git' | 'perl' | 'posix') {
  const { pattern, path, ignore_case, files_only, context } = search
  const flags = `${ignore_case ? 'i' : ''}${files_only ? 'l' : 'n'}${program === 'git' ? 'I' : ''}`
  // `$` of a `grep` does not know CRLF.
  const wanted = program === 'git' ? `(*ANYCRLF)${pattern}` : program === 'perl' ? beforeCr(pattern) : pattern
  return collect(turn, {
    command: program === 'git' ? BY_GIT : BY_GREP,
    cwd: '/',
    env: {
      // The pattern's and the files' letters are UTF-8, whatever the sandbox says.
      ...{ LC_ALL: 'C.UTF-8', PATTERN: wanted, PLACE: path, SYNTAX: program === 'posix' ? 'E' : 'P' },
      OPTIONS: `-${flags}${context > 0 ? ` -C${context}` : ''}`,
    },
    timeout_ms: SEARCH_MS,
    max_output_bytes: SEARCH_BYTES,
  })
}

/** Every `$` that means an end. */
const beforeCr = (pattern: string): string =>
  pattern.replace(/\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\$/gs, (part) => (part === '$' ? '(?=\\r?$)' : part))

/** A file in UTF-16 is searched as UTF-8, where that can be had. */
const ENTER = `
[ -e "$PLACE" ] || { printf '%s\\n' "$PLACE is a symbolic link that leads nowhere." >&2; exit 2; }
place=$(readlink -f -- "$PLACE") || place=$PLACE
file=''
if [ ! -d "$place" ]; then
  file=./\${place##*/}; place=\${place%/*}/
  case $(head -c 2 -- "$place$file" | od -An -tx1) in
    ' ff fe'|' fe ff')
      made=$(mktemp -d) && trap 'rm -rf -- "$made"' EXIT && iconv -f UTF-16 -t UTF-8 -- "$place$file" > "$made/text" && place=$made file=./text ;;
  esac
fi
cd -- "$place" || exit 2`

/**
 * What stands in the configuration of a repository must change nothing of what is printed. As many threads as the machine has
 * processors could be more than the sandbox may have.
 */
const BY_GIT = `${ENTER}
command -v git > /dev/null || exit ${NO_PERL}
git_grep() {
  literal=$1; shift
  git -c core.quotePath=false -c grep.threads=4 -c grep.column=false -c grep.fullName=false --no-pager $literal grep --no-color --no-recurse-submodules $how $OPTIONS -P -e "$PATTERN" -- "$@"
}
how=--no-index
if [ "$file" ]; then how='--no-index -h'; git_grep --literal-pathspecs "$file"
elif [ "$(git rev-parse --is-inside-work-tree 2>/dev/null)" = true ] && ! git check-ignore -q . 2>/dev/null
then how=--untracked; git_grep '' .
else git_grep '' . ':(exclude,glob)**/.git/**' ':(exclude,glob)**/node_modules/**'
fi`

/** busybox's knows none of the longer options. Its pattern is tried first: find tells no match from a mistake. */
const BY_GREP = `${ENTER}
if [ "$SYNTAX" = P ]; then echo x | grep -P x > /dev/null 2>&1 || exit ${NO_PERL}; fi
echo | grep -$SYNTAX -e "$PATTERN" > /dev/null
[ "$?" -le ${NOTHING} ] || exit 2
echo x | grep -I x > /dev/null 2>&1 && OPTIONS="$OPTIONS -I"
if [ "$file" ]; then grep $OPTIONS -h -$SYNTAX -e "$PATTERN" -- "$file"
else find . \\( -name .git -o -name node_modules \\) -prune -o -type f -exec grep -H $OPTIONS -$SYNTAX -e "$PATTERN" {} +
fi`

const UNSEARCHED = `export LC_ALL=C
if [ ! -d "$PLACE" ]; then
  [ "$(head -c 8000 -- "$PLACE" | tr -d '\\000' | wc -c)" -eq "$(head -c 8000 -- "$PLACE" | wc -c)" ] ||
    echo 'It is a binary file.'
  exit
fi
cd -- "$PLACE" || exit
git -c core.quotePath=false --no-pager grep --no-color --untracked --no-recurse-submodules -laP -e '\\A(?:\\xff\\xfe|\\xfe\\xff)' -- . 2>/dev/null ||
  grep -rlaP --exclude-dir=.git --exclude-dir=node_modules -e '\\A(?:\\xff\\xfe|\\xfe\\xff)' . 2>/dev/null`
