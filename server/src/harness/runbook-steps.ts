import { type MaskText, shorten } from './cut-text.ts'
import { type FencedBlock, findFencedBlocks } from './fenced-blocks.ts'

export interface Step {
  /** From 1, in the order of the message. */
  number: number
  title: string
  shell: 'sh' | 'bash'
  command: string
  /** As written, for people: `5m`. */
  timeout: string
  timeout_ms: number
  continue_on_error: boolean
  /** What becomes of a step whose worker was lost while it ran. */
  on_lost: 'rerun' | 'fail'
}

/** A message in its own order: commentary and steps. */
export type RunbookPart = { type: 'text'; text: string } | { type: 'step'; step: Step }

export interface Runbook {
  parts: RunbookPart[]
  /** What is wrong with the first bad step, naming it; nothing may be run then. */
  problem?: string
}

const SHELLS = new Map<string, Step['shell']>([
  ['sh', 'sh'],
  ['shell', 'sh'],
  ['bash', 'bash'],
])
const LANGUAGES = new Set(SHELLS.keys())
const UNITS = new Map([
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
])
const MAX_TIMEOUT_MS = 24 * 3_600_000
// Linux passes at most 128 KiB in one argument, and quoting takes some of it.
const MAX_COMMAND_BYTES = 100_000
const KNOWN_OPTIONS = 'title="…", timeout=5m, continue-on-error, on-lost=fail'

/** Reads a message's fenced `sh`, `shell` and `bash` blocks, also those inside lists and quotes, as steps. */
export function parseRunbook(message: string, mask: MaskText): Runbook {
  const text = message.replaceAll(/\r\n?/g, '\n')
  const found = findFencedBlocks(text, LANGUAGES)
  if ('refused' in found) return { parts: [], problem: found.refused }
  const parts: RunbookPart[] = []
  const problems: string[] = []
  const addText = (said: string) => {
    const trimmed = said.trim()
    if (trimmed !== '') parts.push({ type: 'text', text: trimmed })
  }
  let end = 0
  let number = 0
  for (const block of found.blocks) {
    addText(text.slice(end, block.start))
    end = block.end
    number += 1
    const read = readStep(number, block, mask)
    if ('problem' in read) problems.push(read.problem)
    else parts.push({ type: 'step', step: read.step })
  }
  addText(text.slice(end))
  return { parts, ...(problems[0] !== undefined && { problem: problems[0] }) }
}

function readStep(
  number: number,
  { language, options, content: command }: FencedBlock,
  mask: MaskText,
): { step: Step } | { problem: string } {
  const step: Step = {
    number,
    title: shorten(command.trim().split('\n', 1)[0] ?? '', mask),
    shell: SHELLS.get(language) ?? 'sh',
    command,
    timeout: '10m',
    timeout_ms: 600_000,
    continue_on_error: false,
    on_lost: 'rerun',
  }
  const refuse = (why: string) => ({ problem: `Step ${number} "${step.title}" cannot be run: ${why}.` })
  if (Buffer.byteLength(command) > MAX_COMMAND_BYTES) {
    return refuse(`it is longer than ${MAX_COMMAND_BYTES} bytes; put the script into a file`)
  }
  for (const [option, name = '', quoted, bare] of options.matchAll(/([^\s=]+)(?:=(?:"([^"]*)"|(\S*)))?/g)) {
    const value = quoted ?? bare
    if (name === 'title' && value) {
      step.title = shorten(value, mask)
    } else if (name === 'timeout') {
      const timeout_ms = readTimeout(value ?? '')
      if (timeout_ms === null)
        return refuse(
          `"${shorten(option, mask)}" must be a number of s, m or h up to 24h, such as timeout=5m`,
        )
      Object.assign(step, { timeout: value, timeout_ms })
    } else if (option === 'continue-on-error') {
      step.continue_on_error = true
    } else if (option === 'on-lost=fail') {
      step.on_lost = 'fail'
    } else {
      return refuse(`"${shorten(option, mask)}" is not an option; there are ${KNOWN_OPTIONS}`)
    }
  }
  return { step }
}

function readTimeout(text: string): number | null {
  const [, amount, unit = ''] = /^(\d+)([smh])$/.exec(text) ?? []
  const milliseconds = Number(amount) * (UNITS.get(unit) ?? Number.NaN)
  return milliseconds > 0 && milliseconds <= MAX_TIMEOUT_MS ? milliseconds : null
}
