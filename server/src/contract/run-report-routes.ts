import { z } from 'zod'
import { EgressRanges } from './egress-ranges.ts'
import { RunHarnessUsage } from './harness-usage.ts'
import { ReferenceUrl } from './reference-url.ts'
import { define, reading } from './route.ts'
import { RunTimeline } from './timeline.ts'

const RunParams = z.object({ run_id: z.string().meta({ description: 'Id of the run.' }) })

/** What is told of runs beside the runs themselves: a part of ROUTES. */
export const RUN_REPORT_ROUTES = {
  getRunTimeline: define({
    method: 'GET',
    for_visitors: true,
    path: '/agent/runs/{run_id}/timeline',
    summary: 'Get the timeline of a run',
    description:
      'When the run was created, claimed, set up, started, ended and stopped, read from its log. `GET /agent/runs/{run_id}/events` has everything else.',
    tag: 'Runs',
    params: RunParams,
    status: 200,
    response: RunTimeline,
    errors: reading,
  }),
  getHarnessUsage: define({
    method: 'GET',
    for_visitors: true,
    path: '/agent/runs/{run_id}/harness-usage',
    summary: 'Get what Claude Code or Codex has used',
    description:
      'Tokens by model and calls of tools, counted as that agent counts them. `request_usage` of the run has the same for every agent.',
    tag: 'Runs',
    params: RunParams,
    status: 200,
    response: RunHarnessUsage,
    errors: reading,
  }),
  findRunByReference: define({
    method: 'GET',
    path: '/agent/run-by-external-reference',
    summary: 'Find the run that produced an address',
    description:
      'The newest run that pushed this branch, opened this pull request or reported this address. `GET /agent/runs?reference_url=…` lists all of them.',
    tag: 'Runs',
    query: z.object({ url: ReferenceUrl }),
    status: 200,
    response: z.object({ run_id: z.string() }).meta({ id: 'RunReference' }),
    errors: ['invalid_request', ...reading],
  }),
  getEgressRanges: define({
    method: 'GET',
    path: '/networking/egress-ranges',
    summary: 'Get the networks that requests of agents come from',
    description: 'For allowlists of other services, as the operator of this one has set them.',
    tag: 'Networking',
    status: 200,
    response: EgressRanges,
    errors: reading,
  }),
}
