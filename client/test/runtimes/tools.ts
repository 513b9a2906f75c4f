import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Other runtimes, compilers and checkers: what `npm test` installs, and what only `npm run test:long` does. */
const modules = fileURLToPath(new URL('../../../test/tools/node_modules/', import.meta.url))
const longModules = fileURLToPath(new URL('../../../test/long-tools/node_modules/', import.meta.url))

const PLACES = {
  attw: '@arethetypeswrong/cli/dist/index.js',
  esbuild: 'esbuild/bin/esbuild',
  publint: 'publint/src/cli.js',
  tsc5: 'typescript5/bin/tsc',
  tsc7: 'typescript7/bin/tsc',
  node20: `node20-${process.arch}/bin/node`,
} as const
const LONG_PLACES = {
  bun: `bun-${process.arch}/bin/bun`,
  deno: `deno-${process.arch}/deno`,
  node26: `node26-${process.arch}/bin/node`,
  workerd: `workerd-${process.arch}/bin/workerd`,
} as const

export type Tool = keyof typeof PLACES | keyof typeof LONG_PLACES

const isLong = (tool: Tool): tool is keyof typeof LONG_PLACES => tool in LONG_PLACES

export const toolPath = (tool: Tool): string =>
  isLong(tool) ? join(longModules, LONG_PLACES[tool]) : join(modules, PLACES[tool])

/** The folder of a package that the tools brought, to be linked to where a test needs it. */
export const toolPackage = (name: string): string => join(modules, name)

/** For `skip`: `false`, or what to do about the missing tools. */
export const missing = (...tools: Tool[]): string | false =>
  tools.every((tool) => existsSync(toolPath(tool)))
    ? false
    : `without ${tools.join(', ')}: npm ci --prefix test/${tools.some(isLong) ? 'long-tools' : 'tools'}`
