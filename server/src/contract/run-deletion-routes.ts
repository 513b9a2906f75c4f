import { z } from 'zod'
import { define, Empty, type RouteDefinition, reading, writing } from './route.ts'
import { RunItem } from './run.ts'
import {
  DeleteRunQuery,
  DeleteRunResponse,
  DeleteRunsRequest,
  DeleteRunsResponse,
  UpdateRunRequest,
} from './run-deletion.ts'

const RunParams = z.object({ run_id: z.string().meta({ description: 'Id of the run.' }) })

export const RUN_DELETION_ROUTES = {
  updateRun: define({
    method: 'PATCH',
    path: '/agent/runs/{run_id}',
    summary: 'Rename a run',
    tag: 'Runs',
    params: RunParams,
    body: UpdateRunRequest,
    status: 200,
    response: RunItem,
    errors: ['invalid_request', 'not_authorized', ...reading],
  }),
  deleteRun: define({
    method: 'DELETE',
    path: '/agent/runs/{run_id}',
    summary: 'Delete a run',
    description:
      'The run is gone from every answer when this one comes, with all runs below it, its messages, artifacts, deliveries and share links. Its log and its files go behind, within seconds as a rule. The audit log keeps who deleted it and when, and usage keeps its figures. For the run’s creator, who executes it, and admins. There is no way back. A run that has not ended is refused (409) unless it is to be cancelled; then the answer comes when its worker has stopped it, after 10 seconds a 409 says that it takes longer.',
    tag: 'Runs',
    params: RunParams,
    query: DeleteRunQuery,
    status: 200,
    response: DeleteRunResponse,
    errors: writing,
  }),
  deleteRuns: define({
    method: 'POST',
    path: '/agent/runs/delete',
    summary: 'Delete runs by filter',
    description:
      'Deletes runs as `DELETE /agent/runs/{run_id}` does, 200 that match in a call, oldest first, and those below them: call again while `has_more`. Only runs that the caller may see and delete. Ask with `dry_run` first.',
    tag: 'Runs',
    body: DeleteRunsRequest,
    status: 200,
    response: DeleteRunsResponse,
    errors: writing,
  }),
  archiveRun: define({
    method: 'POST',
    path: '/agent/runs/{run_id}/archive',
    summary: 'Archive a run',
    description:
      'Hides it from lists that do not ask for archived runs; nothing else changes. A run that has not ended, and waits for nobody, is refused: 409. A follow-up brings it back.',
    tag: 'Runs',
    params: RunParams,
    body: Empty,
    status: 200,
    response: RunItem,
    errors: writing,
  }),
  unarchiveRun: define({
    method: 'POST',
    path: '/agent/runs/{run_id}/unarchive',
    summary: 'Take a run out of the archive',
    tag: 'Runs',
    params: RunParams,
    body: Empty,
    status: 200,
    response: RunItem,
    errors: writing,
  }),
} as const satisfies Record<string, RouteDefinition>
