import type { UseMutationResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { Problem } from './problem.tsx'

/** The fields of one thing and the button that saves them, with what became of that. Who may not change it reads it. */
export function SettingsForm({
  save,
  action,
  may_change,
  can_save,
  saved = 'Saved.',
  children,
}: {
  save: Pick<UseMutationResult<unknown, unknown, void>, 'mutate' | 'error' | 'isPending' | 'isSuccess'>
  /** What the button says. */
  action: string
  may_change: boolean
  /** Whether all is there that has to be. */
  can_save: boolean
  saved?: string
  children: ReactNode
}) {
  return (
    <form
      className="grid max-w-2xl content-start"
      onSubmit={(event) => {
        event.preventDefault()
        save.mutate()
      }}
    >
      <fieldset disabled={!may_change} className="m-0 grid min-w-0 gap-4 border-0 p-0">
        {children}
        {save.error ? <Problem error={save.error} /> : null}
        {save.isSuccess ? (
          <p role="status" className="m-0 text-good text-sm">
            {saved}
          </p>
        ) : null}
        {may_change ? (
          <div>
            <Button kind="primary" type="submit" disabled={save.isPending || !can_save}>
              {action}
            </Button>
          </div>
        ) : null}
      </fieldset>
    </form>
  )
}
