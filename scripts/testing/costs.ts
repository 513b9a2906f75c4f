/**
 * Each test file's last cost, kept in `node_modules/.cache`. A fresh clone starts with `test/times.json`, which
 * `npm test -- --keep-times` writes. Only the order of files depends on it.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Cost } from './meter.ts'

export type Costs = Map<string, Cost>

const KEPT = 'test/times.json'
const CACHED = 'node_modules/.cache/runyard-tests/times.json'

export const readCosts = (): Costs => new Map([...readSeconds(KEPT), ...readSeconds(CACHED)])

/** What has just been measured replaces what is known of the same files. */
export function writeCosts(measured: Costs, options: { keep: boolean; files: readonly string[] }): void {
  writeSeconds(CACHED, new Map([...readSeconds(CACHED), ...measured]))
  if (!options.keep) return
  const known = new Set(options.files)
  const kept = [...readSeconds(KEPT), ...measured].filter(([file]) => known.has(file))
  writeSeconds(KEPT, new Map(kept))
}

/** The lines that `startMeter` has written. */
export function readMeasured(log: string): Costs {
  const lines = readFileSync(log, 'utf8').split('\n').filter(Boolean)
  return new Map(lines.map((line) => JSON.parse(line) as Cost).map((cost) => [cost.file, cost]))
}

export function describeCosts(measured: Costs, count: number): string {
  const costs = [...measured.values()]
  const rows = costs
    .sort((a, b) => b.cpu_ms - a.cpu_ms)
    .slice(0, count)
    .map(({ file, cpu_ms, wall_ms }) => `${seconds(cpu_ms)} ${seconds(wall_ms)}  ${file}`)
  const total = costs.reduce((sum, cost) => sum + cost.cpu_ms, 0)
  return [
    '    CPU     time  file (CPU of its process and their children, in seconds)',
    ...rows,
    `${seconds(total)}           in all`,
  ].join('\n')
}

const seconds = (ms: number): string => (ms / 1000).toFixed(1).padStart(7)

/** `{"file": [CPU, time]}`, in seconds. */
function readSeconds(path: string): Costs {
  try {
    const rows = JSON.parse(readFileSync(path, 'utf8')) as Record<string, [number, number]>
    return new Map(
      Object.entries(rows).map(([file, [cpu, wall]]) => [
        file,
        { file, cpu_ms: cpu * 1000, wall_ms: wall * 1000 },
      ]),
    )
  } catch {
    // Not there yet, or cut off by a kill: the order is worse, nothing else.
    return new Map()
  }
}

function writeSeconds(path: string, costs: Costs): void {
  const rows = [...costs.values()]
    .sort((a, b) => (a.file < b.file ? -1 : 1))
    .map(({ file, cpu_ms, wall_ms }) => `  ${JSON.stringify(file)}: [${round(cpu_ms)}, ${round(wall_ms)}]`)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `{\n${rows.join(',\n')}\n}\n`)
}

const round = (ms: number): number => Math.round(ms / 100) / 10
