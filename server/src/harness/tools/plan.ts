import { z } from 'zod'
import { tame } from '../mcp-limits.ts'
import { defineTool, failure } from './tool.ts'

const MAX_STEPS = 100
const MAX_STEP = 500
const MAX_NOTES = 20_000

const Step = z.object({
  step: z.string().trim().min(1).max(MAX_STEP).describe('One line.'),
  status: z.enum(['pending', 'in_progress', 'done']),
})
type Step = z.output<typeof Step>

const BOXES = { pending: '- [ ] ', in_progress: '- [ ] → ', done: '- [x] ' } as const

export const plan = defineTool({
  name: 'plan',
  description:
    'Keeps your plan of the task where people see it, in place of the one before: all steps, each with its status. Use it for work of ' +
    'three steps or more, and again whenever a step is done or the plan changes. At most one step is in progress.',
  input: z.object({
    steps: z.array(Step).min(1).max(MAX_STEPS),
    notes: z.string().max(MAX_NOTES).default('').describe('What else belongs to the plan, in Markdown.'),
  }),
  needs: 'keeper',
  repeatable: true,
  title: ({ steps }) => `plan: ${tellProgress(steps)}`,
  async run({ steps, notes }, { turn }) {
    if (!turn.keeper) return failure('There is no place for a plan here.')
    const lines = steps.map(({ step, status }) => `${BOXES[status]}${oneLine(step)}`)
    const text = [`# Plan\n\n${lines.join('\n')}\n`, tame(notes.trim(), MAX_NOTES)].filter(Boolean).join('\n')
    const refused = await turn.keeper.keepPlan({ title: tellProgress(steps), text })
    return refused ? failure(refused.refusal) : { output: 'The plan is kept.', is_error: false }
  },
})

const oneLine = (text: string): string => tame(text.replace(/\s+/g, ' '), MAX_STEP)

/** `2 of 5 done, now: Write the tests`. */
function tellProgress(steps: readonly Step[]): string {
  const done = steps.filter(({ status }) => status === 'done').length
  const now = steps.find(({ status }) => status === 'in_progress')
  return `${done} of ${steps.length} done${now ? `, now: ${oneLine(now.step)}` : ''}`
}
