import { type AgentChoice, choiceOf } from './agent-choice.ts'
import { type BudgetForm, budgetFormOf } from './budget.ts'

/** What is said of runs beyond what they are to do, as text. */
export interface Details extends AgentChoice, BudgetForm {
  /** Id of the identity that executes them; empty, whoever starts them does. */
  identity: string
  is_personal: boolean
  priority: string
  /** One a line: `key=value`. */
  metadata: string
}

export const NO_DETAILS: Details = {
  ...choiceOf(undefined),
  ...budgetFormOf(undefined),
  identity: '',
  is_personal: false,
  priority: '',
  metadata: '',
}

/** Whether anything is said that stands folded otherwise. */
export const hasDetails = ({ environment: _, model: __, harness: ___, ...folded }: Details): boolean =>
  Object.entries(NO_DETAILS).some(
    ([name, nothing]) => name in folded && folded[name as keyof typeof folded] !== nothing,
  )
