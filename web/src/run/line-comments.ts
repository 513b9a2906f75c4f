import { useMemo, useState } from 'react'
import type { DiffLine } from './patch.ts'

/** What somebody says about a changed line. */
export interface LineComment {
  path: string
  line: DiffLine
  text: string
  /** Still being written: it is not sent with the others. */
  is_draft: boolean
}

export interface CommentActions {
  /** Begins a comment on a line, unless there is one. */
  open: (path: string, line: DiffLine) => void
  write: (comment: LineComment) => void
  remove: (comments: readonly LineComment[]) => void
}

/** Comments of a run's page that have not been sent, by the keys of their lines; the actions stay the same objects. */
export function useLineComments(): { comments: ReadonlyMap<string, LineComment>; actions: CommentActions } {
  const [comments, setComments] = useState<ReadonlyMap<string, LineComment>>(new Map())
  const actions = useMemo(
    (): CommentActions => ({
      open: (path, line) => setComments((before) => openComment(before, path, line)),
      write: (comment) =>
        setComments((before) => new Map(before).set(keyOfLine(comment.path, comment.line), comment)),
      remove: (gone) =>
        setComments((before) => new Map([...before].filter(([, comment]) => !gone.includes(comment)))),
    }),
    [],
  )
  return { comments, actions }
}

/** A field that nothing was written in goes when another one opens. */
export function openComment(
  comments: ReadonlyMap<string, LineComment>,
  path: string,
  line: DiffLine,
): ReadonlyMap<string, LineComment> {
  const key = keyOfLine(path, line)
  if (comments.has(key)) return comments
  const kept = [...comments].filter(([, { text }]) => text.trim() !== '')
  return new Map(kept).set(key, { path, line, text: '', is_draft: true })
}

/** A line by its number, in the new file, or in the old one for a line that was removed. */
export const nameLine = ({ new_line, old_line }: DiffLine): string =>
  new_line === undefined ? `removed line ${old_line ?? '?'}` : `line ${new_line}`

export const keyOfLine = (path: string, { new_line, old_line }: DiffLine): string =>
  `${path} ${new_line ?? `-${old_line}`}`

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
