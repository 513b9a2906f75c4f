import { z } from 'zod'
import { TURN_STOPPED } from '../../log/interruption.ts'
import { keepOutput } from '../keep-output.ts'
import { tame } from '../mcp-limits.ts'
import type { ChildReport, ChildState } from '../tool-services.ts'
import { defineTool, failure } from './tool.ts'

const MAX_WAIT_SECONDS = 300

export const readRun = defineTool({
  name: 'read_run',
  description:
    'Tells of a run that you created, or that such a run created: its state, what its agent said last, its result. Without run_id it ' +
    `lists those you created. With wait_seconds it waits for the end, at most ${MAX_WAIT_SECONDS} seconds, and less where a message for ` +
    'you comes or no worker takes the run.',
  input: z.object({
    run_id: z.uuid().optional(),
    wait_seconds: z.int().min(0).max(MAX_WAIT_SECONDS).default(0),
  }),
  needs: 'children',
  repeatable: true,
  title: ({ run_id }) => (run_id ? `run ${run_id}` : 'runs'),
  async run({ run_id, wait_seconds }, { turn, tool_call_id }) {
    if (!turn.children) return failure('There are no runs to read here.')
    if (run_id === undefined) {
      const children = await turn.children.list()
      const output = children.map((child) => tellState(child)).join('\n') || 'You have created no runs.'
      return { output, is_error: false }
    }
    // A message for this agent is more urgent than the end of another.
    const called = new AbortController()
    turn.inbox.waiting().then(
      () => called.abort(),
      () => called.abort(),
    )
    const signal = AbortSignal.any([turn.signal, called.signal])
    const report = await turn.children.read(run_id, { wait_ms: wait_seconds * 1_000, signal })
    if (turn.signal.aborted) return failure(TURN_STOPPED)
    if (!report) return failure(`No run ${run_id} is below this one.`)
    return { output: await keepOutput({ turn, tool_call_id }, tellReport(report)), is_error: false }
  },
})

function tellState({ run_id, title, state, status_message, working_seconds }: ChildState): string {
  const time = working_seconds === undefined ? '' : ` for ${working_seconds} seconds`
  const why = status_message === undefined ? '' : `: ${tame(status_message, 2_000)}`
  return `${run_id} "${tame(title.replace(/\s+/g, ' '), 200)}" is ${state}${time}${why}`
}

const NOT_TAKEN =
  '[No worker has taken it yet. All may be busy, this run among them: it may begin only when you end. Do not wait for it for ever.]'

function tellReport(report: ChildReport): string {
  const { state, last_message, result, artifacts } = report
  return [
    tellState(report),
    state === 'QUEUED' ? NOT_TAKEN : '',
    result === undefined ? '' : `Result: ${tame(JSON.stringify(result), Number.POSITIVE_INFINITY)}`,
    artifacts.length === 0 ? '' : `Artifacts:\n${artifacts.map((line) => `- ${tame(line, 500)}`).join('\n')}`,
    last_message === undefined ? '' : `Its agent said last:\n${tame(last_message, Number.POSITIVE_INFINITY)}`,
  ]
    .filter(Boolean)
    .join('\n')
}
