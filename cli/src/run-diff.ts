import { isTerminal, type RunDiff, type Runyard } from '@runyard/client'
import { oneLine } from './one-line.ts'
import type { Output } from './output.ts'

export interface DiffOptions {
  turn?: number
}

/** The changes that a run kept; where there are none, says so on standard error as well. */
export async function fetchDiff(
  client: Runyard,
  run_id: string,
  { turn }: DiffOptions,
  output: Output,
): Promise<RunDiff> {
  const diff = await client.runs.diff(run_id, turn === undefined ? {} : { turn })
  if (diff.patch) tellNotes(diff, output)
  else output.note(await explainNothing(client, run_id, turn))
  return diff
}

/** What the patch does not hold: nobody is to believe that it is everything. */
function tellNotes({ notes }: RunDiff, { note, colors }: Output): void {
  for (const each of notes) note(`${colors.yellow('note:')} ${each}`)
}

async function explainNothing(client: Runyard, run_id: string, turn: number | undefined): Promise<string> {
  if (turn !== undefined) return `Nothing was kept up to turn ${turn}.`
  const { state, resolved, status_message } = await client.runs.retrieve(run_id)
  if (!isTerminal(state) && state !== 'BLOCKED')
    return `Nothing is kept yet: the run is ${oneLine(state)}, and changes are kept when a turn ends.`
  if (state === 'CANCELLED')
    return 'Nothing is kept: what a run changes is compared when a turn ends, not when it is cancelled.'
  if (status_message?.error_code === 'environment_setup_failed')
    return 'The run has changed nothing: its setup failed, so its agent never began.'
  return Object.keys(resolved?.commits ?? {}).length === 0
    ? 'The run has no repositories that it could have changed.'
    : 'The run has changed nothing in its repositories.'
}
