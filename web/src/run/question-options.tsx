import { useMutation } from '@tanstack/react-query'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { Button } from '../ui/button.tsx'
import { Problem } from '../ui/problem.tsx'

/** The answers that the agent offers: a click sends one. Any other answer is typed below. */
export function QuestionOptions({ run_id, options }: { run_id: string; options: readonly string[] }) {
  const { client, may_write } = useAccess()
  const answer = useMutation({ mutationFn: (message: string) => client.runs.followup(run_id, { message }) })
  // Until the event of the answer is here, it must not be given twice.
  const is_given = answer.isPending || answer.isSuccess
  return (
    <>
      <ul className="m-0 mt-3 flex list-none flex-wrap gap-2 p-0" aria-label="Answers">
        {options.map((option, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the answers to a question stay as they are.
          <li key={index} className="max-w-full">
            {may_write ? (
              <Button
                className="max-w-full whitespace-normal! py-1 text-left wrap-anywhere"
                disabled={is_given}
                data-asks={index === 0 || undefined}
                onClick={() => answer.mutate(option)}
              >
                {plainText(option)}
              </Button>
            ) : (
              <span className="rounded-lg border border-line px-3 py-1 wrap-anywhere">
                {plainText(option)}
              </span>
            )}
          </li>
        ))}
      </ul>
      {answer.error ? <Problem error={answer.error} /> : null}
    </>
  )
}
