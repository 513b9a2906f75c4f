import { z } from 'zod'
import { whyNoBranch, whyNoRef } from './ref-name.ts'

const MAX_LENGTH = 255

const HINT =
  'Name a branch such as feature/x, a tag, a whole ref such as refs/pull/7/head, or a commit by its id.'

/** A branch, tag, whole ref or commit, as `git check-ref-format` takes them: nothing that git reads as an option or a range. */
export const GitRef = z
  .string()
  .max(MAX_LENGTH)
  .check((ctx) => {
    const why = whyNoRef(ctx.value)
    if (why) ctx.issues.push({ code: 'custom', input: ctx.value, message: `is no ref: it ${why}. ${HINT}` })
  })

const HEADS = 'refs/heads/'
/** `main` and `refs/heads/main` are the same branch. */
export const shortBranch = (ref: string): string => (ref.startsWith(HEADS) ? ref.slice(HEADS.length) : ref)

/** `*` at the end stands for all that begins so. */
export const BranchPattern = z
  .string()
  .max(MAX_LENGTH)
  .overwrite(shortBranch)
  .check((ctx) => {
    const { value } = ctx
    // What stands for the star may be anything that makes a name of it.
    const why = whyNoBranch(value.replace(/\*$/, 'x'))
    if (why)
      ctx.issues.push({
        ...{ code: 'custom', input: value },
        message: `must be the name of a branch, or the beginning of names with * behind it: it ${why}`,
      })
  })
