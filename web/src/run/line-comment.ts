import type { DiffLine } from './patch.ts'

/** What somebody says about a changed line. */
export interface LineComment {
  path: string
  line: DiffLine
  text: string
  /** Still being written: it is not sent with the others. */
  is_draft: boolean
}
