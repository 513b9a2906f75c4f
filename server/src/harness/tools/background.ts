import { z } from 'zod'
import { keepPrinted } from '../keep-output.ts'
import { defineTool, failure } from './tool.ts'

const id = z.string().min(1).max(32).describe('As bash gave it.')

const unknown = (name: string) =>
  failure(
    `There is no background command ${name}: those of a worker that was lost, or of an ended run, ended with it.`,
  )

export const readBackground = defineTool({
  name: 'bash_output',
  description:
    'Gives what a background command has printed since it was last read, and whether it still runs.',
  input: z.object({
    id,
    wait_seconds: z.int().min(0).max(300).default(0).describe('How long to wait for its end at most.'),
  }),
  title: ({ id }) => `output of ${id}`,
  async run({ id, wait_seconds }, { turn, tool_call_id, background }) {
    const printed = await background.read(id, wait_seconds * 1_000, turn.signal)
    if (!printed) return unknown(id)
    const { text, dropped, exit, killed } = printed
    const state =
      exit === null
        ? 'still runs'
        : exit.code === null
          ? `ended by ${exit.signal ?? 'being killed'}`
          : `ended with exit code ${exit.code}`
    const lines = [
      ...(dropped ? ['[older output was dropped]'] : []),
      (await keepPrinted({ turn, tool_call_id }, text)) || '(no new output)',
      ...(killed === null ? [] : [`[${killed}]`]),
      `[${id} ${state}]`,
    ]
    return { output: lines.join('\n'), is_error: false }
  },
})

export const killBackground = defineTool({
  name: 'bash_kill',
  description: 'Ends a background command and everything it started.',
  input: z.object({ id }),
  title: ({ id }) => `kill ${id}`,
  async run({ id }, { background }) {
    return (await background.kill(id)) ? { output: `${id} was ended.`, is_error: false } : unknown(id)
  },
})
