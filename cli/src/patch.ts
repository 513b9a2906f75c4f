import type { RunDiff } from '@runyard/client'
import { usageFailure } from './failure.ts'
import { oneLine } from './one-line.ts'

const BEGIN = Buffer.from('diff --git ')
const BEGIN_LINE = Buffer.from('\ndiff --git ')

/** The parts of a patch: one a file. No other line begins as their first ones do, whatever the files hold. */
function* partsOf(patch: Buffer): Generator<Buffer> {
  let start = patch.subarray(0, BEGIN.length).equals(BEGIN) ? 0 : patch.indexOf(BEGIN_LINE) + 1
  if (start === 0 && !patch.subarray(0, BEGIN.length).equals(BEGIN)) return
  while (start < patch.length) {
    const next = patch.indexOf(BEGIN_LINE, start)
    const end = next < 0 ? patch.length : next + 1
    yield patch.subarray(start, end)
    start = end
  }
}

/** What of the patch is about files below this folder. Names of folders need no quoting; those of files may. */
export function partBelow(patch: Buffer, directory: string): Buffer {
  const starts = [`diff --git a/${directory}/`, `diff --git "a/${directory}/`].map((text) =>
    Buffer.from(text),
  )
  const parts = [...partsOf(patch)].filter((part) =>
    starts.some((start) => part.subarray(0, start.length).equals(start)),
  )
  return Buffer.concat(parts)
}

/** The names in a diff of several repositories begin with their folders; `-p` of `git apply` takes that off. */
export const isOfSeveral = ({ repositories }: RunDiff): boolean => repositories.length > 1

/** The diff of one of its repositories alone. Paths stay as they are. */
export function narrow(diff: RunDiff, directory: string): RunDiff {
  const repositories = diff.repositories.filter((each) => each.directory === directory)
  if (repositories.length === 0) throw unknownRepository(diff, `The run has no repository ${directory}.`)
  if (!isOfSeveral(diff)) return diff
  const files = diff.files.filter(({ path }) => path.startsWith(`${directory}/`))
  const is_cut = diff.files.length < diff.files_changed
  return {
    ...diff,
    repositories,
    files,
    files_changed: files.length,
    additions: files.reduce((sum, { additions }) => sum + additions, 0),
    deletions: files.reduce((sum, { deletions }) => sum + deletions, 0),
    notes: [
      ...diff.notes,
      ...(is_cut ? [`Counted are only the first ${diff.files.length} files of the run.`] : []),
    ],
  }
}

export const unknownRepository = ({ repositories }: RunDiff, message: string): Error =>
  usageFailure(
    message,
    `--repository NAME, one of ${oneLine(repositories.map(({ directory }) => directory).join(', '))}`,
  )
