import type { Runyard } from '@runyard/client'
import { askOne, type Choice } from './ask.ts'
import { CommandFailure, EXIT } from './failure.ts'
import { oneLine } from './one-line.ts'
import { listNamed } from './reference.ts'
import { RUN_ID, shortId } from './short-id.ts'
import { formatAge } from './time-text.ts'

/** The newest; older ones are named by their ids. */
const MOST_RUNS = 100

/** What a person chooses where a command was not told which run, or which of what has a name. `kind`: as the argument is called. */
export async function pick(kind: string, client: Runyard): Promise<string> {
  const choices = kind === RUN_ID ? await listRuns(client) : await listOthers(kind, client)
  const what = kind === RUN_ID ? 'run' : kind
  if (choices.length === 0) throw new CommandFailure(`There is no ${what} to choose.`)
  const chosen = await askOne(`Which ${what}?`, choices)
  if (chosen === null) throw new CommandFailure('Nothing was chosen.', { exit_code: EXIT.interrupted })
  return chosen
}

async function listRuns({ runs }: Runyard): Promise<Array<Choice<string>>> {
  const page = await runs.list({ sort_by: 'updated_at', limit: MOST_RUNS })
  return page.runs.map(({ run_id, title, state, updated_at }) => ({
    value: run_id,
    label: oneLine(`${shortId(run_id)}  ${title || 'without a title'}`),
    hint: oneLine(`${state}, ${formatAge(updated_at)}`),
  }))
}

async function listOthers(kind: string, client: Runyard): Promise<Array<Choice<string>>> {
  const named = await listNamed(kind, client)
  return named.map(({ id, name }) => ({ value: id, label: oneLine(name || shortId(id)) }))
}
