import { cleanText } from './clean-text.ts'
import { type Colors, createColors, toPrintable, toRaw } from './colors.ts'
import { type CommandProcess, currentProcess } from './current-process.ts'
import { EXIT, type Explanation } from './failure.ts'
import { oneLine } from './one-line.ts'
import { shortId } from './short-id.ts'
import { hang } from './wrap.ts'

export const FORMATS = ['text', 'json', 'ndjson'] as const
export type Format = (typeof FORMATS)[number]

/** What an output writes to. */
export interface Streams {
  stdin: { isTTY?: boolean | undefined }
  stdout: Sink
  stderr: Sink
}
interface Sink {
  isTTY?: boolean | undefined
  columns?: number | undefined
  rows?: number | undefined
  write(text: string): unknown
}

/**
 * Where a command writes: results to standard output, everything about them to standard error. Whatever the text, nothing
 * but letters, lines, tabs and our own colours gets through, unless --raw.
 */
export interface Output {
  format: Format
  /** Standard output is a terminal. */
  terminal: boolean
  /** A person can be asked. */
  interactive: boolean
  colors: Colors
  /** Columns of the terminal; undefined when there is none, so nothing is cut. */
  columns: () => number | undefined
  /** Text that came in pieces, made safe unless --raw. */
  clean: (text: string) => string
  raw: boolean
  /** An id as people read it: on a terminal its end, which every command takes, else all of it. */
  id: (id: string) => string
  write: (text: string) => void
  line: (text?: string) => void
  /** One JSON value a line. */
  json: (value: unknown) => void
  /** For people, one line to standard error. */
  note: (text: string) => void
  /** Empties the line of the terminal that is being written. */
  eraseLine: () => void
  /** Empties the last lines of the terminal, so that others can stand there. */
  eraseLines: (count: number) => void
  /** Lines of the terminal; undefined where there is none. */
  rows: () => number | undefined
}

const ERASE = '\r\u001b[2K'
/** What JSON may hold as it is, and a terminal acts on: DEL, C1 controls and bidirectional overrides. */
const UNSAFE_IN_JSON = /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

export function openOutput(
  options: { format: Format; raw?: boolean | undefined },
  { stdin, stdout, stderr }: Streams = currentProcess(),
): Output {
  const terminal = stdout.isTTY === true && currentProcess().env.TERM !== 'dumb'
  const raw = options.raw ?? false
  const show = raw ? toRaw : toPrintable
  const write = (text: string): void => void stdout.write(show(text))
  return {
    format: options.format,
    terminal,
    interactive: terminal && stdin.isTTY === true,
    colors: createColors(wantsColors(terminal)),
    columns: () => (terminal ? stdout.columns : undefined),
    clean: raw ? (text) => text : cleanText,
    raw,
    id: (id) => oneLine(terminal ? shortId(id) : id),
    write,
    line: (text = '') => write(`${text}\n`),
    json: (value) => void stdout.write(`${toJson(value, options.format === 'json' ? 2 : undefined)}\n`),
    note: (text) => void stderr.write(`${show(fitWords(oneLine(text), stderr))}\n`),
    eraseLine: () => void stdout.write(ERASE),
    eraseLines: (count) => void stdout.write(count > 0 ? `\u001b[${count}A\r\u001b[J` : ''),
    // Some terminals do not say, with 0.
    rows: () => (terminal ? stdout.rows || undefined : undefined),
  }
}

/** On a terminal no word is broken; elsewhere a line stays a line. */
const fitWords = (text: string, { isTTY, columns }: Sink): string =>
  isTTY && columns ? hang(text, 0, columns) : text

/** The same value to every reader of JSON, and harmless to a terminal. */
const toJson = (value: unknown, indent: number | undefined): string =>
  JSON.stringify(value, null, indent).replace(
    UNSAFE_IN_JSON,
    (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** See no-color.org; picocolors itself would also colour pipes in CI. */
const wantsColors = (terminal: boolean): boolean => terminal && !currentProcess().env.NO_COLOR

/** Says what went wrong: one line, and a hint below it. */
export function reportFailure({ message, hint }: Explanation): void {
  const { stderr } = currentProcess()
  const { red, dim } = createColors(wantsColors(stderr.isTTY === true))
  const write = (text: string): void => void stderr.write(toPrintable(`${fitWords(text, stderr)}\n`))
  write(`${red('error:')} ${oneLine(cleanText(message))}`)
  if (hint) write(`${dim('hint:')} ${hint}`)
}

/** A reader that has seen enough (`| head`) ends the command quietly. */
export function endQuietlyOnClosedPipe(own: CommandProcess): void {
  own.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    own.exit(EXIT.ok)
  })
}
