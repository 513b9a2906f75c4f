import type { RunEvent } from '../contract/event.ts'
import type { Outcome, Session, TurnRequest, TurnRun } from '../harness/harness.ts'
import type { RunRow } from '../store/runs.ts'

/**
 * Takes one turn of a session. To one that can be steered, what comes meanwhile is handed at once. `null`: something was
 * delivered that the turn did not get any more, so there is to be another one. `onSteeringFailed` hears of a fault that the
 * turn meets as well: steering fails with the lease, or with the agent.
 */
export async function takeTurn(
  session: Session,
  request: TurnRequest,
  onSteeringFailed: (error: unknown) => void,
): Promise<Outcome | null> {
  if (!session.steer) return session.turn(request)
  const { inbox, signal } = request
  const over = Promise.withResolvers<void>()
  let ended = false
  let late = false
  const steering = (async () => {
    while (!ended && !signal.aborted) {
      await Promise.race([inbox.waiting(), over.promise])
      if (ended || signal.aborted) return
      for (const message of await inbox.take()) {
        const taken = !ended && (await session.steer?.(message))
        if (!taken) late = true
      }
    }
  })()
  steering.catch(onSteeringFailed)
  try {
    const outcome = await session.turn(request)
    ended = true
    over.resolve()
    await steering
    return late ? null : outcome
  } finally {
    ended = true
    over.resolve()
  }
}

/** What a session is told of its run. */
export const turnRunOf = (run: RunRow, attempt: number, cwd: string): TurnRun => ({
  run_id: run.run_id,
  attempt,
  config: run.config,
  cwd,
  ...(run.request.output_schema ? { output_schema: run.request.output_schema } : {}),
})

/** Of a message that brought files. */
export const hasAttachments = (event: RunEvent): boolean =>
  event.type === 'message.user' && Boolean(event.data.attachments?.length)
