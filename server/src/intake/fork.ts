import type { Actor } from '../contract/actor.ts'
import { AppError } from '../contract/error.ts'
import type { ForkOf } from '../contract/fork.ts'
import type { RunAgentRequest } from '../contract/run-request.ts'
import { isEnvironment } from '../store/environments.ts'
import { requireUnmasked } from '../store/grants.ts'
import type { NewRun } from '../store/new-runs.ts'
import { findRun, type RunRow } from '../store/runs.ts'
import { readTurnEnds, type TurnEnd } from '../store/turn-ends.ts'
import { type EarlierServices, takeOver } from './earlier-run.ts'
import { requireSameRepositories } from './run-repositories.ts'

/** A request that goes on from the end of a turn, and what the new run begins with. */
export interface Fork {
  request: RunAgentRequest
  from: NonNullable<NewRun['fork']>
}

/** Throws where the caller may not have what the earlier run holds, or what it held is not kept. */
export async function forkRun(
  services: EarlierServices,
  asked: RunAgentRequest,
  actor: Actor,
): Promise<Fork | null> {
  const { fork_of } = asked
  if (fork_of === undefined) return null
  const source = await findRun(services.db, fork_of.run_id, actor)
  if (!source) throw new AppError('resource_not_found', 'fork_of.run_id: there is no run with this id.')
  await requireUnmasked(services.db, actor, source, 'workspace')
  await requireSameEnvironment(services, source, asked)
  const { turn, sequence, snapshot_id } = pickTurn(await readTurnEnds(services.db, source.run_id), fork_of)
  const { run_id, context } = source
  const { config: { skill_spec, skills, ...config } = {}, ...request } = takeOver(
    services,
    source,
    asked,
    actor,
    'fork',
  )
  // What a skill says is in the conversation already.
  const own = asked.config
  return {
    request: {
      ...request,
      ...(asked.skill === undefined ? { skill: undefined } : {}),
      config: {
        ...config,
        ...(own?.skill_spec === undefined ? {} : { skill_spec: own.skill_spec }),
        ...(own?.skills === undefined ? {} : { skills: own.skills }),
      },
    },
    from: { run_id, sequence, turn, snapshot_id, context: [...context, { run_id, sequence }] },
  }
}

/** What is in the workspace is of the repositories and the image that it was prepared with. */
async function requireSameEnvironment(
  { db }: EarlierServices,
  { environment_id, config: before }: RunRow,
  { config }: RunAgentRequest,
): Promise<void> {
  requireSameRepositories(
    config ?? {},
    before,
    'a fork goes on in the workspace of the earlier run, so it has the same repositories; leave them out.',
  )
  const reference = config?.environment_id
  if (reference === undefined || (await isEnvironment(db, reference, environment_id))) return
  throw new AppError(
    'invalid_request',
    'config.environment_id: a fork goes on in the workspace of the earlier run, so it has the same environment; leave it out.',
  )
}

function pickTurn(ends: readonly TurnEnd[], { sequence, turn }: ForkOf): TurnEnd {
  const found =
    turn === undefined
      ? ends.findLast((end) => sequence === undefined || end.sequence <= sequence)
      : ends.find((end) => end.turn === turn)
  if (found && (found.snapshot_id !== null || found.pristine)) return found
  const usable = ends.filter((end) => end.snapshot_id !== null || end.pristine)
  const named = usable.map((end) => `${end.turn} (sequence ${end.sequence})`)
  const which =
    named.length > 0 ? `Turns that can be forked: ${named.join(', ')}.` : 'None of its turns can be forked.'
  if (!found) {
    const what = turn === undefined ? 'no turn of the run had ended by then' : `no turn ${turn} has ended`
    throw new AppError('conflict', `fork_of: ${what}. ${which}`, { retryable: false })
  }
  const detail = `fork_of: the workspace of turn ${found.turn} is not kept (RUNYARD_SNAPSHOT_TURNS). ${which}`
  throw new AppError('conflict', detail, { retryable: false })
}
