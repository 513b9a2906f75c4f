import { RunyardError } from './errors.ts'

const LEVELS = ['off', 'error', 'warn', 'info', 'debug'] as const
export type LogLevel = (typeof LEVELS)[number]

/** `console` is one. */
export interface Logger {
  error(message: string, ...details: unknown[]): void
  warn(message: string, ...details: unknown[]): void
  info(message: string, ...details: unknown[]): void
  debug(message: string, ...details: unknown[]): void
}

/** What the library itself writes to; details are only made when they are wanted. */
export interface Log {
  info(message: string): void
  debug(message: string, detail: () => unknown): void
}

const silent = (): void => {}

/** The logger without the levels that are not wanted. */
export function limitLogger(logger: Logger, level: LogLevel): Log {
  const at = (name: keyof Log) =>
    LEVELS.indexOf(name) <= LEVELS.indexOf(level)
      ? (message: string, detail?: () => unknown) =>
          logger[name](`runyard: ${message}`, ...(detail ? [detail()] : []))
      : silent
  return { info: at('info'), debug: at('debug') }
}

/** Warnings unless told otherwise. */
export function parseLogLevel(text: string | undefined): LogLevel {
  if (!text) return 'warn'
  const level = LEVELS.find((candidate) => candidate === text.trim().toLowerCase())
  if (level) return level
  throw new RunyardError(`RUNYARD_LOG and logLevel are one of ${LEVELS.join(', ')}, not '${text}'.`)
}

const SECRET = /^(?!idempotency-key$).*(auth|cookie|key|token|secret|sign|pass|credential)/i

/** Headers as they may stand in a log: no keys, cookies or signatures. */
export const redactHeaders = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, SECRET.test(name) ? '***' : value]),
  )
