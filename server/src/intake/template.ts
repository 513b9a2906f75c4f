/** What schedules and triggers keep of their runs to be, made a run. */
import type { Actor } from '../contract/actor.ts'
import type { AmbientAgentConfig } from '../contract/agent-config.ts'
import { AppError } from '../contract/error.ts'
import type { RunSourceType } from '../contract/run.ts'
import type { BudgetLimits, OutputSchema, RunAgentRequest } from '../contract/run-request.ts'
import type { NewRun } from '../store/new-runs.ts'
import { type RunServices, resolveRun } from './new-run.ts'

export interface RunTemplate {
  prompt: string
  title: string | null
  mode: RunAgentRequest['mode'] | null
  config: AmbientAgentConfig
  metadata: Record<string, string>
  priority: number | null
  budget: BudgetLimits | null
  /** Was checked when it was written. */
  output_schema: OutputSchema | null
  /** The identity that executes its runs. */
  agent_uid: string | null
  scope: 'User' | 'Team'
}

/** The run that the actor would create of it. Throws, with the field as it is called there, what a create is refused with. */
export async function resolveTemplate(
  services: RunServices,
  { prompt, title, mode, config, metadata, priority, budget, output_schema, agent_uid, scope }: RunTemplate,
  actor: Actor,
  source: RunSourceType,
): Promise<NewRun> {
  const request = {
    ...{ prompt, config, metadata, team: scope === 'Team' },
    ...(title ? { title } : {}),
    ...(mode ? { mode } : {}),
    ...(priority === null ? {} : { priority }),
    ...(budget ? { budget } : {}),
    ...(output_schema ? { output_schema } : {}),
    ...(agent_uid === null ? {} : { agent_identity_uid: agent_uid }),
  }
  try {
    return await resolveRun(services, request, actor, source, { schema_checked: true })
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const detail = error.detail
      .replace(/(?<![\w.])config\./g, 'agent_config.')
      .replace(/^agent_identity_uid:/, 'agent_uid:')
    throw new AppError(error.code, detail, { status: error.status, cause: error })
  }
}
