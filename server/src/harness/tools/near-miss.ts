import { cutLine, type MaskText } from '../cut-text.ts'
import { findText } from './find-text.ts'

const MAX_SHOWN = 12
const MAX_LINE = 300
/** Shorter lines, such as a bracket, are everywhere. */
const TELLING = 4
const MAX_COMPARED = 200

/** Where a text nearly holds another that it does not hold, as a model is told it: why, and the lines as they are. */
export function describeNearMiss(whole: string, wanted_text: string, mask: MaskText): string {
  const text = whole.replaceAll('\r\n', '\n')
  const wanted = wanted_text.replaceAll('\r\n', '\n')
  const without_numbers = wanted.replace(/^ *\d+\t/gm, '')
  if (without_numbers !== wanted && findText(text, without_numbers) !== -1)
    return 'It has the line numbers that read shows; leave them out.'
  const count = wanted.replace(/\n$/, '').split('\n').length
  const show = (line: number) => showLines(text, line, Math.min(count, MAX_SHOWN), mask)
  const spaced = findWithoutSpace(text, wanted)
  if (spaced !== null) return `Only white space differs. The file has:\n${show(spaced)}`
  const near = findMostAlike(text, wanted)
  if (near !== null) return `The nearest there is:\n${show(near)}`
  return 'Nothing resembles it. Read the file again: it may have changed.'
}

const showLines = (text: string, line: number, count: number, mask: MaskText): string =>
  text
    .split('\n')
    .slice(line, line + count)
    .map((each, at) => `${line + at + 1}\t${cutLine(each, MAX_LINE, mask)}`)
    .join('\n')

/** The line, from 0, where it begins if all white space is left out. */
function findWithoutSpace(text: string, wanted: string): number | null {
  const piece = wanted.replace(/\s+/g, '')
  if (piece === '') return null
  const at = findText(text.replace(/\s+/g, ''), piece)
  if (at === -1) return null
  let seen = 0
  for (const [line, each] of text.split('\n').entries()) {
    seen += each.replace(/\s+/g, '').length
    if (seen > at) return line
  }
  return null
}

/** The line where most of its lines would follow, indentation aside. */
function findMostAlike(text: string, wanted: string): number | null {
  const places = new Map<string, number[]>()
  for (const [line, each] of wanted.split('\n').slice(0, MAX_COMPARED).entries()) {
    const trimmed = each.trim()
    if (trimmed.length >= TELLING) places.set(trimmed, [...(places.get(trimmed) ?? []), line])
  }
  const votes = new Map<number, number>()
  for (const [line, each] of text.split('\n').entries())
    for (const place of places.get(each.trim()) ?? []) {
      const begin = Math.max(0, line - place)
      votes.set(begin, (votes.get(begin) ?? 0) + 1)
    }
  let best: number | null = null
  for (const [line, count] of votes) if (best === null || count > (votes.get(best) ?? 0)) best = line
  return best
}
