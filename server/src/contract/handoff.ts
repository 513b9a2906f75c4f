import { z } from 'zod'
import { Timestamp } from './timestamp.ts'

export const HandoffAttachment = z
  .object({
    attachment_id: z.string(),
    filename: z.string(),
    mime_type: z.string(),
    download_url: z.string().meta({ description: 'Works without a key until `expires_at`.' }),
    expires_at: Timestamp,
    size_bytes: z.int(),
    sha256: z.string(),
    created_at: Timestamp.meta({ description: 'When the workspace was packed.' }),
    turn: z.int().meta({
      description: 'Messages that the agent had been given by then, the prompt included.',
    }),
  })
  .meta({ id: 'HandoffAttachment' })
export type HandoffAttachment = z.infer<typeof HandoffAttachment>

export const HandoffAttachmentsResponse = z
  .object({
    attachments: z.array(HandoffAttachment).meta({
      description:
        'One tar, compressed with zstd, with the folders `workspace` and `home/agent`. None: no execution has ended yet, or nothing was kept of the last one.',
    }),
  })
  .meta({ id: 'HandoffAttachmentsResponse' })
export type HandoffAttachmentsResponse = z.infer<typeof HandoffAttachmentsResponse>
