/** The test files of the repository, and which of them may share a process. */
import { globSync, readFileSync } from 'node:fs'

const ROOMS = '{server,client,cli,scripts,bench,web}'

export const isTestFile = (file: string): boolean => /\.(test|long)\.ts$/.test(file)

/** From the root, sorted. `wanted` are files or folders; none means all. */
export function findTestFiles(wanted: readonly string[], options: { long: boolean }): string[] {
  const suffix = options.long ? '{test,long}' : 'test'
  const isWanted = (file: string) =>
    wanted.length === 0 ||
    wanted.some((path) => file === path || file.startsWith(`${path.replace(/\/$/, '')}/`))
  return globSync(`${ROOMS}/**/*.${suffix}.ts`, { exclude: ['**/node_modules/**'] })
    .filter(isWanted)
    .sort()
}

/**
 * A file that awaits at its top level cannot be loaded inside a suite, and one that changes the process (environment, directory)
 * would change it for the files after it. Both run alone, and so does a file that says `runs alone` in its first comment.
 */
export const mayShareProcess = (file: string): boolean => {
  const source = readFileSync(file, 'utf8')
  const head = source.slice(0, source.indexOf('import '))
  return !(AWAITS.test(source) || CHANGES_PROCESS.test(source) || /runs alone/i.test(head))
}

const AWAITS = /^(?:await\b|for await\b|(?:export )?(?:const|let) [^\n]*= await\b)/m
const CHANGES_PROCESS =
  /process\.(?:chdir|umask)\(|(?:delete |^ *)process\.env\.\w+(?: *(?:=|\|\|=|\?\?=) |\n)/m
