const STEP_STATUS = ['pending', 'in_progress', 'done'] as const

export interface PlanStep {
  step: string
  status: (typeof STEP_STATUS)[number]
}

/** The steps of a plan; undefined when they are not written as steps. */
export function readSteps(steps: unknown): PlanStep[] | undefined {
  if (!Array.isArray(steps)) return undefined
  const read = steps.flatMap((item: unknown) => {
    if (typeof item !== 'object' || item === null || !('step' in item) || !('status' in item)) return []
    const status = STEP_STATUS.find((known) => known === item.status)
    return typeof item.step === 'string' && status ? [{ step: item.step, status }] : []
  })
  return read.length === steps.length ? read : undefined
}

/** `2 of 5`, and the step that is in progress, or the next one. */
export function summarisePlan(steps: readonly PlanStep[]): { count: string; now: string | undefined } {
  const done = steps.filter(({ status }) => status === 'done').length
  const now =
    steps.find(({ status }) => status === 'in_progress') ?? steps.find(({ status }) => status !== 'done')
  return { count: `${done} of ${steps.length}`, now: now?.step }
}
