import { posix } from 'node:path'
import { pathMatcher } from './match-path.ts'

const MAX_PATH = 4096
/** What makes a part of a path a pattern. Brackets and parentheses may be names: those of Next.js and SvelteKit are. */
const WILD = /[*?{}[\]()!|\\]/

export interface PathPattern {
  /** The folder to look in, absolute: as far down as the pattern names it. */
  directory: string
  /** Stands before what is found below that, to make it a path as the pattern has it. */
  prefix: string
  matches: (file: string) => boolean
  /** It names something hidden or a folder, so that it may mean what git ignores. */
  is_precise: boolean
}

/** A pattern as a model writes it: absolute, with `./` or `../` before it, with a slash behind it. `directory` is absolute. */
export function readPathPattern(given: string, directory: string): PathPattern {
  const tidy = given.trim().replace(/\/+$/, '/')
  const pattern = tidy.endsWith('/') ? `${tidy}**` : tidy
  const is_absolute = pattern.startsWith('/')
  const parts = pattern.split('/').filter((part) => part !== '' && part !== '.')
  const wild = parts.findIndex((part) => WILD.test(part))
  // The last part is a file's name.
  const fixed = parts.slice(0, wild === -1 ? -1 : wild)
  const rest = parts.slice(fixed.length)
  const prefix = is_absolute ? posix.resolve('/', ...fixed) : posix.join(...fixed)
  return {
    directory: posix.resolve(is_absolute ? '/' : directory, ...fixed),
    prefix: prefix === '.' ? '' : prefix.replace(/\/?$/, '/'),
    matches: matcherOf(rest.join('/')),
    is_precise:
      fixed.some((part) => part !== '..') || rest.some((part) => part.startsWith('.')) || wild === -1,
  }
}

function matcherOf(pattern: string): (file: string) => boolean {
  // Parentheses may be a folder's name, or around what may stand there.
  const matchers = [false, ...(/\(.*\|.*\)/s.test(pattern) ? [true] : [])].map((groups) =>
    pathMatcher(pattern, { groups }),
  )
  return (file) => file.length <= MAX_PATH && matchers.some((matches) => matches(file))
}
