/** Git's own rules for names of refs, without any library: the git gateway asks them of what sandboxes push. */

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

/** Why git would not take this as the name of a branch (`git check-ref-format --branch`); `null`: it does. */
export const whyNoBranch = (name: string): string | null => (name === 'HEAD' ? 'is HEAD' : whyNoRef(name))
