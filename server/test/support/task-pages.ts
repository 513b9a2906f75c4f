import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the checkout. */
export const CHECKOUT = fileURLToPath(new URL('../../../', import.meta.url))

export const pageOf = (name: string): string => readFileSync(join(CHECKOUT, `docs/tasks/${name}.md`), 'utf8')

/** The blocks of a page that are tried, in order. */
export const blocksOf = (name: string): Array<{ name: string; script: string }> =>
  Array.from(pageOf(name).matchAll(/<!-- test: (.+) -->\n```sh\n([\s\S]*?)```\n/g), (match) => ({
    name: match[1] ?? '',
    script: match[2] ?? '',
  }))
