import { z } from 'zod'
import { TURN_STOPPED } from '../../log/interruption.ts'
import { runCommand } from '../command.ts'
import { keepPrinted, OUTPUT_NOTE } from '../keep-output.ts'
import { watchLeft } from './left-running.ts'
import { defineTool, failure } from './tool.ts'

const DEFAULT_TIMEOUT_SECONDS = 120

export const bash = defineTool({
  name: 'bash',
  description:
    'Runs a shell command and returns what it printed and its exit code. Each call is a new shell in the working ' +
    'directory: variables and cd do not carry over. There is no terminal, and standard input is empty. Set background for servers ' +
    'and what takes long, read it with bash_output and end it with bash_kill. Do not use & for that: what is left running ends ' +
    'with the call, or holds it open until its time is over, and its output is lost; the result says what became of it. ' +
    OUTPUT_NOTE,
  input: z.object({
    command: z.string().min(1).max(100_000),
    timeout_seconds: z
      .int()
      .min(1)
      .max(3600)
      .default(DEFAULT_TIMEOUT_SECONDS)
      .describe(`The command is killed after this time; ${DEFAULT_TIMEOUT_SECONDS} unless given.`),
    background: z.boolean().default(false).describe('Goes on beside your work, without a time limit.'),
  }),
  title: ({ command }) => command.trim().split('\n', 1)[0] ?? '',
  async run({ command, timeout_seconds, background }, { turn, tool_call_id, ...context }) {
    if (background) {
      const started = context.background.start(
        { sandbox: turn.sandbox, cwd: turn.run.cwd, mask: (text) => turn.mask(text) },
        command,
      )
      if ('refused' in started) return failure(started.refused)
      return { output: `It runs in the background as ${started.id}.`, is_error: false }
    }
    const leaving = watchLeft(command)
    const end = await runCommand(turn, tool_call_id, {
      command: leaving?.command ?? command,
      timeout_ms: timeout_seconds * 1000,
    })
    const { code: exit_code, truncated_bytes } = end
    const figures = { exit_code, truncated_bytes }
    const printed = await keepPrinted({ turn, tool_call_id }, end.text, end.readMasked)
    if (end.aborted) return { ...figures, is_error: true, output: `${TURN_STOPPED}\n${printed}`.trimEnd() }
    const lines = [printed || '(no output)']
    if (truncated_bytes > 0)
      lines.push(`[${truncated_bytes} bytes in the middle were dropped: it printed too much]`)
    const left = await leaving?.tell(turn, end.timed_out)
    if (left) lines.push(`[${left}]`)
    if (end.killed !== null) lines.push(`[${end.killed}]`)
    if (end.timed_out) lines.push(`[killed after ${timeout_seconds} seconds; give timeout_seconds for more]`)
    else if (exit_code === null && end.killed === null) lines.push(`[ended by ${end.signal ?? 'a signal'}]`)
    else if (exit_code !== null && exit_code !== 0) lines.push(`[exit code ${exit_code}]`)
    return { ...figures, is_error: exit_code !== 0, output: lines.join('\n') }
  },
})
