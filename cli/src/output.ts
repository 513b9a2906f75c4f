import picocolors from 'picocolors'
import { cleanText } from './clean-text.ts'
import { EXIT, type Explanation } from './failure.ts'

export const FORMATS = ['text', 'json', 'ndjson'] as const
export type Format = (typeof FORMATS)[number]
export type Colors = ReturnType<typeof picocolors.createColors>

/** Where a command writes: results to standard output, everything about them to standard error. */
export interface Output {
  format: Format
  /** Standard output is a terminal. */
  terminal: boolean
  /** A person can be asked. */
  interactive: boolean
  colors: Colors
  /** Columns of the terminal; undefined when there is none, so nothing is cut. */
  columns: () => number | undefined
  /** Text of an agent or another person, made safe unless --raw. */
  clean: (text: string) => string
  raw: boolean
  write: (text: string) => void
  line: (text?: string) => void
  /** One JSON value a line. */
  json: (value: unknown) => void
  /** For people, to standard error. */
  note: (text: string) => void
}

export function openOutput(options: { format: Format; raw?: boolean | undefined }): Output {
  const { stdin, stdout, stderr } = process
  const terminal = stdout.isTTY === true && process.env.TERM !== 'dumb'
  const write = (text: string): void => void stdout.write(text)
  const raw = options.raw ?? false
  return {
    format: options.format,
    terminal,
    interactive: terminal && stdin.isTTY === true,
    colors: picocolors.createColors(wantsColors(terminal)),
    columns: () => (terminal ? stdout.columns : undefined),
    clean: raw ? (text) => text : cleanText,
    raw,
    write,
    line: (text = '') => write(`${text}\n`),
    json: (value) => write(`${JSON.stringify(value, null, options.format === 'json' ? 2 : undefined)}\n`),
    note: (text) => void stderr.write(`${text}\n`),
  }
}

/** See no-color.org; picocolors itself would also colour pipes in CI. */
const wantsColors = (terminal: boolean): boolean => terminal && !process.env.NO_COLOR

/** Says what went wrong: one line, and a hint below it. */
export function reportFailure({ message, hint }: Explanation): void {
  const colors = picocolors.createColors(wantsColors(process.stderr.isTTY === true))
  process.stderr.write(`${colors.red('error:')} ${cleanText(message)}\n`)
  if (hint) process.stderr.write(`${colors.dim('hint:')} ${cleanText(hint)}\n`)
}

/** A reader that has seen enough (`| head`) ends the command quietly. */
export function endQuietlyOnClosedPipe(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit(EXIT.ok)
  })
}
