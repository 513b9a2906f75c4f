import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const FILE = fileURLToPath(new URL('./README.md', import.meta.url))
/** What a figure may be worse by before it counts. */
const TOLERATED = 1.1
/** Columns that compare a row with a yardstick of the same run, as in `3.6 × GET /healthz`: only these mean the same elsewhere. */
const RATIOS: Readonly<Record<string, 'less is better' | 'more is better'>> = {
  beside: 'less is better',
  'loop/bare': 'less is better',
  'of GET /healthz': 'more is better',
}

const blockOf = (name: string): RegExp => new RegExp(`(<!-- ${name} -->)([\\s\\S]*)(<!-- end of ${name} -->)`)

/** Puts a table into bench/README.md, between `<!-- name -->` and `<!-- end of name -->`. */
export function writeFigures(name: string, table: string): void {
  const text = readFileSync(FILE, 'utf8')
  writeFileSync(FILE, text.replace(blockOf(name), `$1\n${table}\n$3`))
}

/** The rows of a table whose ratio is worse by a tenth than in the one that is kept, as sentences. */
export function findWorse(name: string, table: string): string[] {
  const kept = blockOf(name).exec(readFileSync(FILE, 'utf8'))?.[2]
  return kept === undefined ? [] : compareTables(kept, table)
}

/** Rows are known by their first cell; one that only one of the tables has is left out. */
export function compareTables(before: string, after: string): string[] {
  const known = readRatios(before)
  return [...readRatios(after)].flatMap(([what, { ratio, better }]) => {
    const old = known.get(what)?.ratio
    if (old === undefined || !(old > 0) || !(ratio > 0)) return []
    const worse_by = better === 'less is better' ? ratio / old : old / ratio
    return worse_by > TOLERATED
      ? [`${what}: ${ratio} in place of ${old}, worse by ${Math.round((worse_by - 1) * 100)} %`]
      : []
  })
}

function readRatios(table: string): Map<string, { ratio: number; better: string }> {
  const [head = [], , ...rows] = table
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
  const column = head.findIndex((title) => title in RATIOS)
  const better = RATIOS[head[column] ?? '']
  if (!better) return new Map()
  return new Map(
    rows.map(([what = '', ...cells]) => [
      what,
      { ratio: Number.parseFloat(cells[column - 1] ?? ''), better },
    ]),
  )
}
