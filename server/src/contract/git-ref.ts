import { z } from 'zod'

const MAX_LENGTH = 255

/** What git takes for something else than a part of a name, and how a person would call it. */
const FORBIDDEN: ReadonlyArray<readonly [RegExp, string]> = [
  [/^-/, 'begins with "-"'],
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those that git refuses.
  [/[\u0000-\u001f\u007f]/, 'has a control character'],
  [/ /, 'has a space'],
  [/[~^:]/, 'has "~", "^" or ":", which count from a ref or within it'],
  [/[?*[\\]/, 'has "?", "*", "[" or "\\"'],
  [/\.\./, 'has ".."'],
  [/@\{/, 'has "@{"'],
  [/^@$/, 'is "@" alone'],
  [/^\/|\/$|\/\//, 'has a slash at an end, or two in a row'],
  [/(^|\/)\./, 'has a part that begins with "."'],
  [/\.lock(\/|$)/, 'has a part that ends with ".lock"'],
  [/\.$/, 'ends with "."'],
]

/** Why git would not take this as a name (git-check-ref-format(1), with `--allow-onelevel`); `null`: it does. */
export function whyNoRef(text: string): string | null {
  if (text === '') return 'is empty'
  if (!text.isWellFormed()) return 'has half a character'
  return FORBIDDEN.find(([pattern]) => pattern.test(text))?.[1] ?? null
}

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
    const why = value === 'HEAD' ? 'is HEAD' : whyNoRef(value.replace(/\*$/, 'x'))
    if (why)
      ctx.issues.push({
        ...{ code: 'custom', input: value },
        message: `must be the name of a branch, or the beginning of names with * behind it: it ${why}`,
      })
  })
