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
  const show = (line: number) => {
    const lines = showLines(text, line, Math.min(count, MAX_SHOWN), mask)
    return lines + nameUnusual(lines)
  }
  const spaced = findAlike(text, wanted, withoutSpace)
  if (spaced !== null) return `Only white space differs. The file has:\n${show(spaced)}`
  const folded = findAlike(text, wanted, withoutLooks)
  if (folded !== null) return `Only characters that look alike differ. The file has:\n${show(folded)}`
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

const withoutSpace = (text: string): string => text.replace(/\s+/g, '')

/** Without what models do not see or write otherwise: kinds of quotes, dashes and spaces, composed letters. */
const withoutLooks = (text: string): string =>
  withoutSpace(text.normalize('NFKC'))
    .replace(/[\u200b-\u200d\u2060\ufeff\u00ad]/gu, '')
    .replace(/[\u2018-\u201b\u2032`\u00b4]/g, "'")
    .replace(/[\u201c-\u201f\u2033\u00ab\u00bb]/g, '"')
    .replace(/[\u2010-\u2015\u2212]/g, '-')

/** Characters that look like others or like nothing, so that they can be written. */
function nameUnusual(lines: string): string {
  const found = new Set(
    lines.match(/[\u00a0\u00ad\u2000-\u2015\u2018-\u201f\u202f\u2032\u2033\u2060\u2212\u3000\ufeff]/gu),
  )
  const names = [...found].map(
    (each) => `${each} is U+${each.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`,
  )
  return names.length === 0 ? '' : `\n(in these lines ${names.join(', ')})`
}

/** The line, from 0, where it begins if both are folded so. */
function findAlike(text: string, wanted: string, fold: (text: string) => string): number | null {
  const piece = fold(wanted)
  if (piece === '') return null
  const at = findText(fold(text), piece)
  if (at === -1) return null
  let seen = 0
  for (const [line, each] of text.split('\n').entries()) {
    seen += fold(each).length
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
