import { z } from 'zod'
import { ArtifactResponse } from './artifact.ts'
import { define, reading } from './route.ts'

const ArtifactParams = z.object({ artifact_uid: z.string().meta({ description: 'Id of the artifact.' }) })

/** What runs keep: a part of ROUTES. */
export const ARTIFACT_ROUTES = {
  getArtifact: define({
    method: 'GET',
    for_visitors: true,
    path: '/agent/artifacts/{artifact_uid}',
    summary: 'Get an artifact',
    tag: 'Artifacts',
    params: ArtifactParams,
    status: 200,
    response: ArtifactResponse,
    errors: ['not_authorized', ...reading],
  }),
  downloadArtifact: define({
    method: 'GET',
    for_visitors: true,
    path: '/agent/artifacts/{artifact_uid}/download',
    summary: 'Download an artifact',
    description: 'Redirects to a link, valid for 15 minutes, to its bytes.',
    tag: 'Artifacts',
    params: ArtifactParams,
    status: 302,
    errors: ['not_authorized', ...reading],
  }),
}
