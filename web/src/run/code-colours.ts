import type { createLowlight } from 'lowlight'
import { useEffect, useState } from 'react'
import { plainText } from '../text/plain-text.ts'
import type { DiffLine, Hunk } from './patch.ts'

export interface Token {
  text: string
  /** Classes of highlight.js. */
  look: string
}
export type Highlighter = ReturnType<typeof createLowlight>

/** Longer hunks stay plain: colours are found in the page's one thread. */
const MOST_CHARACTERS = 100_000

/** File name endings of the languages that the library brings, when they are not names of it already. */
const LANGUAGES: Record<string, string> = {
  ...{ mjs: 'javascript', cjs: 'javascript', mts: 'typescript', cts: 'typescript', htm: 'xml', vue: 'xml' },
  ...{ dockerfile: 'bash', makefile: 'makefile', gemfile: 'ruby', h: 'c', hpp: 'cpp', kts: 'kotlin' },
}

/** By the ending of the name; undefined when there is none to go by. */
export function languageOf(path: string, highlighter: Pick<Highlighter, 'registered'>): string | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
  const ending = name.slice(name.lastIndexOf('.') + 1)
  const language = LANGUAGES[ending] ?? ending
  return language && highlighter.registered(language) ? language : undefined
}

let loading: Promise<Highlighter> | undefined

/** Fetched with the first file that is opened; undefined until it is there. */
export function useHighlighter(): Highlighter | undefined {
  const [highlighter, setHighlighter] = useState<Highlighter>()
  useEffect(() => {
    loading ??= import('lowlight').then(({ common, createLowlight }) => createLowlight(common))
    // Without it code stays plain.
    loading.then((loaded) => setHighlighter(() => loaded)).catch(() => {})
  }, [])
  return highlighter
}

/** What a line is as text that can be shown. */
export const shownText = ({ text }: DiffLine): string => plainText(text.replaceAll('\r', '␍'))

/**
 * The colours of a hunk's lines, by their place. The old file and the new one are read apart, as each is code for itself.
 * Undefined where nothing is to be coloured.
 */
export function colourHunk(
  { lines }: Pick<Hunk, 'lines'>,
  language: string,
  highlighter: Highlighter,
): Array<Token[] | undefined> | undefined {
  if (lines.reduce((sum, { text }) => sum + text.length, 0) > MOST_CHARACTERS) return undefined
  const coloured: Array<Token[] | undefined> = lines.map(() => undefined)
  // Lines that are the same in both are taken from the new one.
  for (const kinds of [
    ['same', 'removed'],
    ['same', 'added'],
  ]) {
    const places = lines.flatMap(({ kind }, place) => (kinds.includes(kind) ? [place] : []))
    const text = places.map((place) => shownText(lines[place] as DiffLine)).join('\n')
    const found = splitLines(highlighter.highlight(language, text).children as Node[])
    for (const [index, place] of places.entries()) coloured[place] = found[index] ?? []
  }
  return coloured
}

/** As much of a syntax tree as there is in colours. */
interface Node {
  type: string
  value?: string
  properties?: { className?: string[] }
  children?: Node[]
}

function splitLines(nodes: readonly Node[]): Token[][] {
  const lines: Token[][] = [[]]
  const walk = (node: Node, look: string): void => {
    if (node.type === 'text') {
      for (const [index, text] of (node.value ?? '').split('\n').entries()) {
        if (index > 0) lines.push([])
        if (text) lines.at(-1)?.push({ text, look })
      }
    }
    const inner = [look, ...(node.properties?.className ?? [])].filter(Boolean).join(' ')
    for (const child of node.children ?? []) walk(child, inner)
  }
  for (const node of nodes) walk(node, '')
  return lines
}
