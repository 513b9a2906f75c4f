import { findUnenforced, findUnhonoured, type HarnessTraits } from '../contract/harness-fields.ts'
import type { Permissions } from '../contract/permission.ts'
import type { Outcome } from '../harness/harness.ts'
import type { EnvironmentRow } from '../store/environments.ts'
import type { RunRow } from '../store/runs.ts'

/**
 * Without these a run would not be what was asked for. The rest has no effect where a run that names no harness is a runbook for
 * want of a model.
 */
const NEEDED = ['output_schema', 'config.permissions']

/** What was not known at create, where the run leaves the choice of its harness to the worker. */
export function findUnsupported(run: RunRow, harness: HarnessTraits): Outcome | null {
  const { output_schema } = run.request
  const config = { ...run.config, permissions: rulesOf(run).flat() }
  return refuse(findUnhonoured(harness, { ...(output_schema ? { output_schema } : {}), config }, NEEDED))
}

/** The sets of rules that the run has, and those of the runs above it. */
export const rulesOf = ({ config, rules_above }: RunRow): Permissions[] => [
  config.permissions ?? [],
  ...(rules_above ?? []),
]

/** The rules that nobody would obey: the environment may have got them since the run was created. */
export const refuseUnenforced = (
  environment: Pick<EnvironmentRow, 'config'> | null,
  harness: HarnessTraits,
): Outcome | null => refuse(environment ? findUnenforced(harness, environment.config) : [])

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
