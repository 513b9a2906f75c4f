import type { BudgetLimits } from '@runyard/client'
import type { Command } from 'commander'
import { amount, wholeNumber } from './option-values.ts'

export interface BudgetOptions {
  maxTokens?: number
  maxCost?: number
  maxMinutes?: number
}

export const addBudgetOptions = (command: Command): Command =>
  command
    .option('--max-tokens <n>', 'tokens that the run may use', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .option('--max-cost <usd>', 'what its models may cost, in US dollars', amount(1_000_000))
    .option('--max-minutes <n>', 'how long it may work', amount(10_080))

/** As a request has it; empty where nothing is limited. */
export function budgetOf({ maxTokens, maxCost, maxMinutes }: BudgetOptions): { budget?: BudgetLimits } {
  const budget: BudgetLimits = {
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    ...(maxCost === undefined ? {} : { max_cost_usd: maxCost }),
    ...(maxMinutes === undefined ? {} : { max_duration_minutes: maxMinutes }),
  }
  return Object.keys(budget).length > 0 ? { budget } : {}
}

/** For people. */
export const describeBudget = ({ max_cost_usd, max_tokens, max_duration_minutes }: BudgetLimits): string =>
  [
    ...(max_cost_usd === undefined ? [] : [`${max_cost_usd} US dollars`]),
    ...(max_tokens === undefined ? [] : [`${max_tokens} tokens`]),
    ...(max_duration_minutes === undefined ? [] : [`${max_duration_minutes} minutes`]),
  ].join(', ')
