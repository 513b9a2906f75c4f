import type { FetchInit, RunStreamEvent } from '@runyard/client'
import { cleanText } from './clean-text.ts'

/** Their text comes in pieces, which may part an escape sequence: who puts them together cleans them. */
const IN_PIECES = ['message.assistant.delta', 'message.assistant', 'tool.output', 'setup.output']

/** A decoded JSON value with every text in it made safe for a terminal, the names of properties too. */
export function cleanValue(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(cleanValue)
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [cleanText(key), cleanValue(each)]))
}

/** Cleans an event of a run, except for text that comes in pieces. */
export function cleanEvent(event: RunStreamEvent): RunStreamEvent {
  const clean = cleanValue(event) as RunStreamEvent
  if (!IN_PIECES.includes(event.type)) return clean
  return { ...clean, data: { ...clean.data, text: Reflect.get(event.data, 'text') } } as RunStreamEvent
}

/** `fetch` for a client that shows what it gets: every JSON answer is cleaned before anybody reads it. */
export async function fetchClean(input: string, init: FetchInit = {}): Promise<Response> {
  const response = await fetch(input, init)
  const is_json = /\bjson\b/.test(response.headers.get('content-type') ?? '')
  // Bytes that were asked for as such stay as they are.
  if (!is_json || !response.body || init.headers?.accept === '*/*') return response
  const { status, headers } = response
  // `Response` refuses what it makes itself of a status line that is not ASCII.
  const statusText = response.statusText.replace(/[^ -~]/g, '')
  return new Response(cleanJson(await response.text()), { status, statusText, headers })
}

function cleanJson(text: string): string {
  try {
    return JSON.stringify(cleanValue(JSON.parse(text)))
  } catch {
    return text
  }
}
