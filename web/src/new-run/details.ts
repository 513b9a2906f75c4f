import { type AgentChoice, choiceOf } from './agent-choice.ts'
import { type BudgetForm, budgetFormOf } from './budget.ts'
import { isObject } from './json-object.ts'
import { readPermissions } from './permission-lines.ts'

/** What is said of runs beyond what they are to do, as text. */
export interface Details extends AgentChoice, BudgetForm {
  /** Id of the identity that executes them; empty, whoever starts them does. */
  identity: string
  is_personal: boolean
  priority: string
  /** One a line: `key=value`. */
  metadata: string
  /** Of the result, as JSON. */
  output_schema: string
}

export const NO_DETAILS: Details = {
  ...choiceOf(undefined),
  ...budgetFormOf(undefined),
  identity: '',
  is_personal: false,
  priority: '',
  metadata: '',
  output_schema: '',
}

/** Whether anything is said that stands folded otherwise. */
export const hasDetails = ({
  environment: _,
  model: __,
  harness: ___,
  repository: ____,
  ref: _____,
  ...folded
}: Details): boolean =>
  Object.entries(NO_DETAILS).some(
    ([name, nothing]) => name in folded && folded[name as keyof typeof folded] !== nothing,
  )

/** Whether all of it can be read. */
export const areReadable = ({ permissions, tool_servers, output_schema }: Details): boolean =>
  readPermissions(permissions) !== null && isObject(tool_servers) && isObject(output_schema)
