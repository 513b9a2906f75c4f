import type { CreateRunParams } from '@runyard/client'

type Budget = NonNullable<CreateRunParams['budget']>

/** What a run may spend, as text; empty is without a limit. */
export interface BudgetForm {
  max_cost: string
  max_tokens: string
  max_minutes: string
}

export const budgetFormOf = (budget: Budget | undefined): BudgetForm => ({
  max_cost: String(budget?.max_cost_usd ?? ''),
  max_tokens: String(budget?.max_tokens ?? ''),
  max_minutes: String(budget?.max_duration_minutes ?? ''),
})

/** The limits that were named, or none. */
export function budgetOf(form: BudgetForm): Budget | undefined {
  const [cost, tokens, minutes] = [form.max_cost, form.max_tokens, form.max_minutes].map((text) =>
    text.trim(),
  )
  if (!cost && !tokens && !minutes) return undefined
  return {
    ...(cost ? { max_cost_usd: Number(cost) } : {}),
    ...(tokens ? { max_tokens: Number(tokens) } : {}),
    ...(minutes ? { max_duration_minutes: Number(minutes) } : {}),
  }
}
