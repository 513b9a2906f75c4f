import { z } from 'zod'
import { define, reading } from './route.ts'
import {
  ListWorkspaceFilesQuery,
  ListWorkspaceFilesResponse,
  WorkspaceFileQuery,
  WorkspaceFileResponse,
} from './workspace-file.ts'

const RunParams = z.object({ run_id: z.string().meta({ description: 'Id of the run.' }) })

/** The files that turns of a run left: a part of ROUTES. */
export const WORKSPACE_FILE_ROUTES = {
  listWorkspaceFiles: define({
    method: 'GET',
    path: '/agent/runs/{run_id}/files',
    summary: "List the files of a run's workspace",
    description:
      'What lies directly in a folder of /workspace as a turn left it; a file or link is listed alone. Workspaces are kept when a turn ends that changed files, those of the last ten turns (RUNYARD_SNAPSHOT_TURNS). It takes the grants of a follow-up, and viewers are refused, since nothing in a workspace is masked.',
    tag: 'Runs',
    params: RunParams,
    query: ListWorkspaceFilesQuery,
    status: 200,
    response: ListWorkspaceFilesResponse,
    pages: 'files',
    errors: ['invalid_request', 'not_authorized', ...reading],
  }),
  getWorkspaceFile: define({
    method: 'GET',
    path: '/agent/runs/{run_id}/file',
    summary: "Get a file of a run's workspace",
    description:
      'A link, valid for 15 minutes, to the bytes of a file in /workspace as a turn left it. It takes the grants of a follow-up, and viewers are refused, since nothing in a workspace is masked.',
    tag: 'Runs',
    params: RunParams,
    query: WorkspaceFileQuery,
    status: 200,
    response: WorkspaceFileResponse,
    errors: ['invalid_request', 'not_authorized', ...reading],
  }),
} as const
