import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const FILE = fileURLToPath(new URL('./README.md', import.meta.url))

/** Puts a table into bench/README.md, between `<!-- name -->` and `<!-- end of name -->`. */
export function writeFigures(name: string, table: string): void {
  const text = readFileSync(FILE, 'utf8')
  const place = new RegExp(`(<!-- ${name} -->)[\\s\\S]*(<!-- end of ${name} -->)`)
  writeFileSync(FILE, text.replace(place, `$1\n${table}\n$2`))
}
