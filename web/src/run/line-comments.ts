import { useEffect, useMemo, useState } from 'react'
import type { LineComment } from './line-comment.ts'
import type { DiffLine, FilePart } from './patch.ts'
import { type CommentsOwner, readStored, storeComments } from './stored-comments.ts'

export interface CommentActions {
  /** Begins a comment on a line, unless there is one. */
  open: (path: string, line: DiffLine) => void
  write: (comment: LineComment) => void
  remove: (comments: readonly LineComment[]) => void
}

/** Comments on a run that have not been sent, by the keys of their lines; the actions stay the same objects. */
export interface Commenting {
  comments: ReadonlyMap<string, LineComment>
  actions: CommentActions
}

export function useLineComments({ principal_id, run_id }: CommentsOwner): Commenting {
  const [comments, setComments] = useState<ReadonlyMap<string, LineComment>>(
    () => new Map(readStored({ principal_id, run_id }).map((comment) => [keyOf(comment), comment])),
  )
  useEffect(
    () => storeComments({ principal_id, run_id }, writtenOf(comments)),
    [principal_id, run_id, comments],
  )
  const actions = useMemo(
    (): CommentActions => ({
      open: (path, line) => setComments((before) => openComment(before, path, line)),
      write: (comment) => setComments((before) => new Map(before).set(keyOf(comment), comment)),
      remove: (gone) =>
        setComments((before) => new Map([...before].filter(([, comment]) => !gone.includes(comment)))),
    }),
    [],
  )
  return { comments, actions }
}

/** Those with a text, finished or not. */
export const writtenOf = (comments: ReadonlyMap<string, LineComment>): LineComment[] =>
  [...comments.values()].filter(({ text }) => text.trim() !== '')

/** Whether the patch still has the line that a comment is about. */
export const hasLine = ({ path, line }: LineComment, parts: ReadonlyMap<string, FilePart>): boolean =>
  parts
    .get(path)
    ?.hunks.some(({ lines }) =>
      lines.some((shown) => numberOf(shown) === numberOf(line) && shown.text === line.text),
    ) ?? false

/** A field that nothing was written in goes when another one opens. */
export function openComment(
  comments: ReadonlyMap<string, LineComment>,
  path: string,
  line: DiffLine,
): ReadonlyMap<string, LineComment> {
  const key = keyOfLine(path, line)
  if (comments.has(key)) return comments
  const kept = writtenOf(comments).map((comment) => [keyOf(comment), comment] as const)
  return new Map(kept).set(key, { path, line, text: '', is_draft: true })
}

/** A line by its number, in the new file, or in the old one for a line that was removed. */
export const nameLine = ({ new_line, old_line }: DiffLine): string =>
  new_line === undefined ? `removed line ${old_line ?? '?'}` : `line ${new_line}`

const numberOf = ({ new_line, old_line = 0 }: DiffLine): number => new_line ?? -old_line

/** With the line's text: after another turn, another line may have its number. */
export const keyOfLine = (path: string, line: DiffLine): string => `${path}\n${numberOf(line)}\n${line.text}`

export const keyOf = ({ path, line }: LineComment): string => keyOfLine(path, line)

const LONGEST_LINE = 200

/** All comments as one message to the agent, in Markdown, file by file. */
export function writeComments(comments: readonly LineComment[]): string {
  const paths = [...new Set(comments.map(({ path }) => path))]
  const parts = paths.map((path) => {
    const own = comments.filter((comment) => comment.path === path)
    return [`${path}:`, ...own.map(writeComment)].join('\n\n')
  })
  return ['Comments on the changes:', ...parts].join('\n\n')
}

function writeComment({ line, text }: LineComment): string {
  const code = line.text.length > LONGEST_LINE ? `${line.text.slice(0, LONGEST_LINE)}…` : line.text
  // A fence that is longer than any in the line, so that the line cannot end it.
  const longest = Math.max(2, ...[...code.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  const said = text.trim().replaceAll('\n', '\n  ')
  return `- ${nameLine(line)}\n  ${fence}\n  ${code}\n  ${fence}\n  ${said}`
}
