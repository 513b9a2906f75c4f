import { z } from 'zod'
import { Timestamp } from './timestamp.ts'

const created_at = Timestamp

/** How much a patch of the run's changes changes. */
export const diffSummary = {
  turn: z.int().meta({ description: 'Messages that the agent had been given by then, the prompt included.' }),
  files_changed: z.int(),
  additions: z.int().meta({ description: 'Lines.' }),
  deletions: z.int(),
}

/** What the agent says of a file that it attached. */
const saidOfFile = { title: z.string().optional(), description: z.string().optional() }

/** What is said of a file that is kept. */
export const keptFile = {
  artifact_uid: z.string(),
  filename: z.string(),
  filepath: z.string(),
  mime_type: z.string(),
  size_bytes: z.int(),
}

export const PullRequestStatus = z.enum(['open', 'draft', 'merged', 'closed', 'unknown']).meta({
  id: 'PullRequestStatus',
  description:
    'As its host last said: when the run opened it, by a trigger, or to `GET /agent/runs/{run_id}/pull-requests`, which asks again. `unknown`: it never did.',
})
export type PullRequestStatus = z.infer<typeof PullRequestStatus>

export const ArtifactItem = z
  .discriminatedUnion('artifact_type', [
    z
      .object({
        artifact_type: z
          .literal('PLAN')
          .meta({ description: 'The plan of the agent, in Markdown; the newest.' }),
        created_at,
        data: z.object({
          document_uid: z.string(),
          artifact_uid: z.string().optional(),
          notebook_uid: z.string().optional(),
          title: z.string().optional(),
        }),
      })
      .meta({ id: 'ArtifactItemPlan' }),
    z
      .object({
        artifact_type: z.literal('PULL_REQUEST'),
        created_at,
        data: z.object({
          branch: z.string(),
          url: z.string(),
          status: PullRequestStatus,
        }),
      })
      .meta({ id: 'ArtifactItemPullRequest' }),
    z
      .object({
        artifact_type: z.literal('SCREENSHOT'),
        created_at,
        data: z.object({ artifact_uid: z.string(), mime_type: z.string(), ...saidOfFile }),
      })
      .meta({ id: 'ArtifactItemScreenshot' }),
    z
      .object({
        artifact_type: z.literal('FILE'),
        created_at,
        data: z.object({
          ...keptFile,
          ...saidOfFile,
          diff: z
            .object(diffSummary)
            .optional()
            .meta({ description: "The file is the run's changes as a patch, after a turn." }),
        }),
      })
      .meta({ id: 'ArtifactItemFile' }),
    z
      .object({
        artifact_type: z.literal('EXTERNAL_REFERENCE'),
        created_at,
        data: z.object({ reference_type: z.string(), url: z.string(), title: z.string().optional() }),
      })
      .meta({ id: 'ArtifactItemExternalReference' }),
  ])
  .meta({ id: 'ArtifactItem' })
export type ArtifactItem = z.infer<typeof ArtifactItem>

/** Kinds whose bytes are kept here. Callers see a `DIFF` as a `FILE`: the published clients refuse kinds that they do not know. */
export type KeptArtifactType = ArtifactResponse['artifact_type'] | 'DIFF'

export const ArtifactResponse = z
  .object({
    artifact_uid: z.string(),
    artifact_type: z.enum(['FILE', 'SCREENSHOT', 'PLAN']),
    created_at,
    data: z.object({
      content_type: z.string(),
      download_url: z.string().meta({ description: 'Works without a key until `expires_at`.' }),
      expires_at: Timestamp,
      filename: z.string(),
      filepath: z.string(),
      size_bytes: z.int(),
      sha256: z.string(),
      ...saidOfFile,
      content: z.string().optional().meta({ description: 'Of a `PLAN`: its text, in Markdown.' }),
      document_uid: z.string().optional().meta({ description: 'Of a `PLAN`: the same as `artifact_uid`.' }),
      notebook_uid: z.string().optional().meta({ description: 'Of a `PLAN`: the same as `artifact_uid`.' }),
    }),
    source_links: z
      .object({
        run_url: z.string().optional().meta({ description: "The run's page." }),
        pull_request_urls: z.array(z.string()).optional().meta({
          description:
            'Those that the run and its relatives opened, of runs that the caller may see; at most 100.',
        }),
      })
      .optional()
      .meta({ description: 'Of a `FILE` and a `SCREENSHOT`: where it comes from.' }),
  })
  .meta({ id: 'ArtifactResponse' })
export type ArtifactResponse = z.infer<typeof ArtifactResponse>
