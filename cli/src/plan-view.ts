import type { Output } from './output.ts'
import { truncate } from './table.ts'
import type { ToolCall } from './tool-block.ts'
import { hang } from './wrap.ts'

export interface PlanStep {
  step: string
  status: 'pending' | 'in_progress' | 'done'
}

const BOXES: Record<PlanStep['status'], string> = { pending: '☐', in_progress: '▸', done: '☑' }
const isStatus = (value: unknown): value is PlanStep['status'] =>
  typeof value === 'string' && Object.hasOwn(BOXES, value)

/** The steps that a call of the tool `plan` keeps; null where it is another call, or says none. */
export function readPlan({ name, input }: Pick<ToolCall, 'name' | 'input'>): PlanStep[] | null {
  if (name !== 'plan' || !Array.isArray(input.steps)) return null
  const steps = input.steps.flatMap((each: unknown): PlanStep[] => {
    if (typeof each !== 'object' || each === null) return []
    const { step, status } = each as Partial<Record<string, unknown>>
    return typeof step === 'string' && isStatus(status) ? [{ step, status }] : []
  })
  return steps.length > 0 ? steps : null
}

/** A line for each step, none longer than the terminal. */
export const formatPlan = (steps: readonly PlanStep[], { colors, columns, clean }: Output): string[] =>
  steps.map(({ step, status }) => {
    const text = clean(step).replace(/\s+/g, ' ').trim()
    const line = `${BOXES[status]} ${hang(text, 2, columns())}`
    return status === 'done' ? colors.dim(line) : status === 'in_progress' ? colors.bold(line) : line
  })

/** As many lines as have room, the step that is under way among them, and how many steps are done. */
export function pinPlan(steps: readonly PlanStep[], output: Output): string[] {
  const room = Math.max(3, Math.floor((output.rows() ?? 24) / 3))
  const columns = output.columns() ?? 80
  const current = steps.findIndex(({ status }) => status === 'in_progress')
  const from = Math.max(0, Math.min(steps.length - room, current - 1))
  const done = steps.filter(({ status }) => status === 'done').length
  const lines = steps.slice(from, from + room).map(({ step, status }) => {
    const text = output.clean(step).replace(/\s+/g, ' ').trim()
    const line = truncate(`${BOXES[status]} ${text}`, columns - 1)
    return status === 'done'
      ? output.colors.dim(line)
      : status === 'in_progress'
        ? output.colors.bold(line)
        : line
  })
  return [output.colors.dim(`Plan: ${done} of ${steps.length} done`), ...lines]
}
