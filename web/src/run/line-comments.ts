import type { DiffLine } from './patch.ts'

/** What somebody says of a changed line. */
export interface LineComment {
  path: string
  line: DiffLine
  text: string
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
