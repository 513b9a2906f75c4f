import { z } from 'zod'
import { define, reading, writing } from './route.ts'
import {
  CreateShareLinkRequest,
  ListShareLinksQuery,
  ListShareLinksResponse,
  NewShareLink,
  ShareLink,
} from './share-link.ts'

const RunParams = z.object({ run_id: z.string().meta({ description: 'Id of the run.' }) })

/** Who else may see a run: a part of ROUTES. */
export const SHARE_ROUTES = {
  createShareLink: define({
    method: 'POST',
    path: '/agent/runs/{run_id}/share-links',
    summary: 'Share a run by a link',
    description:
      'Who has the link sees this run, its events, changes and artifacts, without a key, until the link is revoked or expires; nothing else, and changes nothing. ' +
      'For who created the run, and admins. The answer holds the address, this once. A run has at most 100 links.',
    tag: 'Runs',
    params: RunParams,
    body: CreateShareLinkRequest,
    status: 201,
    target: { field: 'share_link_id' },
    response: NewShareLink,
    errors: writing,
  }),
  listShareLinks: define({
    method: 'GET',
    path: '/agent/runs/{run_id}/share-links',
    summary: 'List the share links of a run',
    description: 'Oldest first, without their addresses. For who created the run, and admins.',
    tag: 'Runs',
    params: RunParams,
    query: ListShareLinksQuery,
    status: 200,
    response: ListShareLinksResponse,
    pages: 'share_links',
    errors: ['not_authorized', ...reading],
  }),
  revokeShareLink: define({
    method: 'DELETE',
    path: '/agent/runs/{run_id}/share-links/{share_link_id}',
    summary: 'Revoke a share link',
    description:
      'Ends what was opened with it at once, and streams within 30 seconds. Answers with the link as it was. For who created the run, and admins.',
    tag: 'Runs',
    params: RunParams.extend({ share_link_id: z.string().meta({ description: 'Id of the link.' }) }),
    status: 200,
    response: ShareLink,
    errors: writing,
  }),
} as const
