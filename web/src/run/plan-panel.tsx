import { plainText } from '../text/plain-text.ts'
import { CheckMark } from '../ui/check-mark.tsx'
import { type PlanStep, summarisePlan } from './plan-steps.ts'

export const PlanSteps = ({ steps }: { steps: readonly PlanStep[] }) => (
  <ul className="m-0 grid list-none gap-1 p-0">
    {steps.map(({ step, status }, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: a plan does not change: the next is another list.
      <li key={index} className={`wrap-anywhere ${status === 'done' ? 'text-soft' : ''}`}>
        <CheckMark status={status} />
        {plainText(step)}
      </li>
    ))}
  </ul>
)

/** The agent's plan as it is now, beside the conversation. */
export function PlanPanel({ steps }: { steps: readonly PlanStep[] }) {
  const { count } = summarisePlan(steps)
  return (
    <section aria-label="Plan" className="mb-6 max-lg:hidden">
      <h2 className="m-0 mb-1.5 flex justify-between font-semibold text-sm">
        Plan <span className="tabular font-normal text-soft">{count}</span>
      </h2>
      <div className="max-h-[40vh] overflow-y-auto">
        <PlanSteps steps={steps} />
      </div>
    </section>
  )
}

/** The same on a narrow screen: one line, and the steps when they are wanted. */
export function PlanLine({ steps }: { steps: readonly PlanStep[] }) {
  const { count, now } = summarisePlan(steps)
  return (
    <details className="mb-2 rounded-xl border border-line bg-raised px-3 py-2 text-sm lg:hidden">
      <summary className="chevron flex min-w-0 items-baseline gap-1.5">
        <span className="font-semibold">Plan</span>
        <span className="tabular shrink-0 text-soft">{count}</span>
        {now ? <span className="min-w-0 truncate text-soft">{plainText(now)}</span> : null}
      </summary>
      <div className="mt-2 max-h-[30vh] overflow-y-auto">
        <PlanSteps steps={steps} />
      </div>
    </details>
  )
}
