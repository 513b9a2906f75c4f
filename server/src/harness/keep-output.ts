import { createHash } from 'node:crypto'
import { SandboxFileError } from '../sandbox/sandbox.ts'
import { clip } from './cut-text.ts'
import type { Turn } from './harness.ts'
import { showAsTerminal } from './terminal-text.ts'

/** What lies below the folder of artifacts is kept as artifacts of the run at the end of a turn. */
const FOLDER = '/workspace/artifacts/tool-output'
const MAX_CHARACTERS = 30_000
const MAX_KEPT_CHARACTERS = 10 * 1024 ** 2
const MAX_NAME = 80

/** What tools that keep their output say of it. */
export const OUTPUT_NOTE = `Of output over ${MAX_CHARACTERS} characters the middle is left out; it is kept whole in a file that is named there.`

/** The same output of two calls is in two files. */
export const withoutPlace = (output: string): string =>
  output.replace(/; all of it is in \/workspace\/artifacts\/tool-output\/[\w-]+\.txt …\]/, '')

/** The same of what a command printed, which the model gets as a terminal would show it in the end, and the file as it came. */
export async function keepPrinted(
  place: OutputPlace,
  text: string,
  readMasked: () => string = () => place.turn.mask(text),
): Promise<string> {
  const shown = showAsTerminal(text).trimEnd()
  if (shown.length <= MAX_CHARACTERS) return shown
  const masked = readMasked()
  const end = showAsTerminal(masked).trimEnd()
  return keepOutput(place, end, () => end, masked)
}

export interface OutputPlace {
  turn: Pick<Turn, 'sandbox' | 'mask' | 'signal'>
  tool_call_id: string
}

/**
 * A text short enough for the model. The middle of a longer one is left out, and all of it is put into a file that the agent
 * can read. `readMasked`: the whole text without the values of secrets, where masking the text does not find them all; `whole`:
 * what the file is to hold in its place.
 */
export async function keepOutput(
  { turn, tool_call_id }: OutputPlace,
  text: string,
  readMasked: () => string = () => turn.mask(text),
  whole?: string,
): Promise<string> {
  if (text.length <= MAX_CHARACTERS) return text
  const masked = readMasked()
  if (masked.length <= MAX_CHARACTERS) return masked
  const asIs = (whole: string) => whole
  // A turn that is over has no time for it.
  if (turn.signal.aborted) return clip(masked, MAX_CHARACTERS, asIs)
  const path = `${FOLDER}/${fileNameOf(tool_call_id)}.txt`
  try {
    await turn.sandbox.writeFile(path, clip(whole ?? masked, MAX_KEPT_CHARACTERS, asIs))
  } catch (error) {
    if (!(error instanceof SandboxFileError)) throw error
    return clip(masked, MAX_CHARACTERS, asIs, `; it could not be kept in a file: ${error.code}`)
  }
  return clip(masked, MAX_CHARACTERS, asIs, `; all of it is in ${path}`)
}

/** Ids are the model's or its provider's own: they may hold anything. */
function fileNameOf(tool_call_id: string): string {
  const name = tool_call_id.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, MAX_NAME)
  if (name === tool_call_id && name !== '') return name
  return `${name}-${createHash('sha256').update(tool_call_id).digest('hex').slice(0, 8)}`
}
