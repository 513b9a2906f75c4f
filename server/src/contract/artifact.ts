import { z } from 'zod'
import { Timestamp } from './timestamp.ts'

const created_at = Timestamp

export const ArtifactItem = z
  .discriminatedUnion('artifact_type', [
    z.object({
      artifact_type: z.literal('PLAN'),
      created_at,
      data: z.object({
        document_uid: z.string(),
        artifact_uid: z.string().optional(),
        title: z.string().optional(),
      }),
    }),
    z.object({
      artifact_type: z.literal('PULL_REQUEST'),
      created_at,
      data: z.object({ branch: z.string(), url: z.string() }),
    }),
    z.object({
      artifact_type: z.literal('SCREENSHOT'),
      created_at,
      data: z.object({ artifact_uid: z.string(), mime_type: z.string(), description: z.string().optional() }),
    }),
    z.object({
      artifact_type: z.literal('FILE'),
      created_at,
      data: z.object({
        artifact_uid: z.string(),
        filename: z.string(),
        filepath: z.string(),
        mime_type: z.string(),
        size_bytes: z.int(),
      }),
    }),
    z.object({
      artifact_type: z.literal('EXTERNAL_REFERENCE'),
      created_at,
      data: z.object({ reference_type: z.string(), url: z.string(), title: z.string().optional() }),
    }),
  ])
  .meta({ id: 'ArtifactItem' })
export type ArtifactItem = z.infer<typeof ArtifactItem>

export const ArtifactResponse = z
  .object({
    artifact_uid: z.string(),
    artifact_type: z.enum(['FILE', 'SCREENSHOT']),
    created_at,
    data: z.object({
      content_type: z.string(),
      download_url: z.string().meta({ description: 'Works without a key until `expires_at`.' }),
      expires_at: Timestamp,
      filename: z.string(),
      filepath: z.string(),
      size_bytes: z.int(),
      sha256: z.string(),
    }),
  })
  .meta({ id: 'ArtifactResponse' })
