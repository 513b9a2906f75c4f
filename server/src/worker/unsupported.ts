import type { AmbientAgentConfig } from '../contract/agent-config.ts'
import { findUnhonoured, type HarnessTraits } from '../contract/harness-fields.ts'
import type { Outcome } from '../harness/harness.ts'
import type { EnvironmentRow } from '../store/environments.ts'
import type { RunRow } from '../store/runs.ts'

/**
 * Without these a run would not be what was asked for. The rest has no effect where a run that names no harness is a runbook for
 * want of a model.
 */
const NEEDED = ['output_schema', 'config.permissions']

/** What was not known at create, where the run leaves the choice of its harness to the worker. */
export function findUnsupported({ request, config }: RunRow, harness: HarnessTraits): Outcome | null {
  const { output_schema } = request
  return refuse(findUnhonoured(harness, { ...(output_schema ? { output_schema } : {}), config }, NEEDED))
}

/** Nobody would obey the rules of the run's environment, which it may have got since the run was created. */
export function findUnenforced(
  environment: Pick<EnvironmentRow, 'config'> | null,
  harness: HarnessTraits,
): Outcome | null {
  const permissions = environment?.config.permissions
  const config: AmbientAgentConfig = permissions ? { permissions } : {}
  const unhonoured = findUnhonoured(harness, { config })
  return refuse(
    unhonoured.map((text) => text.replace('config.permissions', 'permissions of the environment')),
  )
}

const refuse = (unhonoured: readonly string[]): Outcome | null =>
  unhonoured.length === 0
    ? null
    : {
        state: 'FAILED',
        status_message: {
          message: unhonoured.join(' '),
          error_code: 'feature_not_available',
          retryable: false,
        },
      }
