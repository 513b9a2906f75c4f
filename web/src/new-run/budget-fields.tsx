import { TextField } from '../ui/field.tsx'
import type { BudgetForm } from './budget.ts'

/** What each run may spend; `unlimited`: what counts where nothing is said. Stand in a grid. */
export function BudgetFields({
  form,
  set,
  unlimited = 'No limit',
}: {
  form: BudgetForm
  set: (change: Partial<BudgetForm>) => void
  unlimited?: string | undefined
}) {
  return (
    <>
      <TextField
        label="At most, US dollars"
        type="number"
        min="0"
        placeholder={unlimited}
        step="any"
        value={form.max_cost}
        onText={(max_cost) => set({ max_cost })}
      />
      <TextField
        label="At most, tokens"
        type="number"
        min="1"
        placeholder={unlimited}
        step="1"
        value={form.max_tokens}
        onText={(max_tokens) => set({ max_tokens })}
      />
      <TextField
        label="At most, minutes of work"
        type="number"
        min="0"
        placeholder={unlimited}
        step="any"
        value={form.max_minutes}
        onText={(max_minutes) => set({ max_minutes })}
      />
    </>
  )
}
