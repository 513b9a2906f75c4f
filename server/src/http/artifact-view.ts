import type { Actor } from '../contract/actor.ts'
import type { ArtifactResponse } from '../contract/artifact.ts'
import type { RunDiff } from '../contract/diff.ts'
import type { ArtifactRow } from '../store/artifacts.ts'
import type { Diff } from '../store/diffs.ts'
import type { Services } from './context.ts'

/** An artifact as callers see it, with a link to its bytes. */
export function viewArtifact(
  { links, settings }: Services,
  artifact: ArtifactRow,
  actor: Actor,
): ArtifactResponse {
  const { path, expires_at } = links.sign(`/downloads/artifacts/${artifact.artifact_uid}`, actor)
  return {
    artifact_uid: artifact.artifact_uid,
    artifact_type: artifact.artifact_type === 'DIFF' ? 'FILE' : artifact.artifact_type,
    created_at: artifact.created_at.toISOString(),
    data: {
      content_type: artifact.mime_type,
      download_url: settings.downloads_url + path,
      expires_at: expires_at.toISOString(),
      filename: artifact.filename,
      filepath: artifact.filepath,
      size_bytes: artifact.size_bytes,
      sha256: artifact.sha256,
      ...(artifact.title === null ? {} : { title: artifact.title }),
      ...(artifact.description === null ? {} : { description: artifact.description }),
    },
  }
}

/** A plan with its text, so that nobody has to follow the link for it. */
export const withPlan = (view: ArtifactResponse, content: string): ArtifactResponse => ({
  ...view,
  data: { ...view.data, content, document_uid: view.artifact_uid, notebook_uid: view.artifact_uid },
})

const NOTHING: Diff = {
  turn: 0,
  repositories: [],
  files: [],
  files_changed: 0,
  additions: 0,
  deletions: 0,
  notes: [],
}

/** A diff with its patch; one of nothing where none was kept. */
export function viewDiff(
  run_id: string,
  diff: (Diff & ArtifactRow) | null,
  viewPatch: (patch: ArtifactRow) => ArtifactResponse,
): RunDiff {
  const { turn, repositories, files, files_changed, additions, deletions, notes } = diff ?? NOTHING
  return {
    ...{ run_id, turn, repositories, files, files_changed, additions, deletions, notes },
    ...(diff ? { patch: viewPatch(diff) } : {}),
  }
}
