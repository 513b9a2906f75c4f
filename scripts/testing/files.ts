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
 * A file that awaits at its top level cannot be loaded inside a suite. One that changes the process (environment, directory) would
 * change it for the files after it, and one that reads the process's arguments wants to be started by its own name.
 */
export const mayShareProcess = (file: string): boolean => {
  const source = readFileSync(file, 'utf8')
  return !AWAITS.test(source) && !NEEDS_PROCESS.test(source)
}

export const usesBrowser = (file: string): boolean =>
  /from '\.\/support\/(?:browser|web-page)\.ts'/.test(readFileSync(file, 'utf8'))

const AWAITS = /^(?:await\b|for await\b|(?:export )?(?:const|let) [^\n]*= await\b)/m
const NEEDS_PROCESS =
  /process\.(?:chdir\(|umask\(|argv\b|execArgv\b)|(?:delete |^ *)process\.env\.\w+(?: *(?:=|\|\|=|\?\?=) |\n)/m
