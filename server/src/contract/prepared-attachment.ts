import { z } from 'zod'
import { define, writing } from './route.ts'
import { AttachmentFile } from './run-request.ts'
import { Timestamp } from './timestamp.ts'

export const MOST_PREPARED = 25

export const PrepareAttachmentsRequest = z
  .object({ attachments: z.array(z.object(AttachmentFile)).min(1).max(MOST_PREPARED) })
  .meta({ id: 'PrepareAttachmentsRequest' })

export const PreparedUpload = z
  .object({
    attachment_id: z.string().meta({ format: 'uuid' }),
    file_name: z.string(),
    mime_type: z.string(),
    upload_url: z.string().meta({
      description:
        'Takes the file by `PUT`, as it is, up to 10 MiB, without a key until `upload_expires_at`. The last upload counts.',
    }),
    upload_expires_at: Timestamp,
    expires_at: Timestamp.meta({ description: 'A follow-up must name the attachment before this.' }),
  })
  .meta({ id: 'PreparedUpload' })
export type PreparedUpload = z.infer<typeof PreparedUpload>

export const PrepareAttachmentsResponse = z
  .object({ attachments: z.array(PreparedUpload).meta({ description: 'In the order of the request.' }) })
  .meta({ id: 'PrepareAttachmentsResponse' })
export type PrepareAttachmentsResponse = z.infer<typeof PrepareAttachmentsResponse>

const prepare = {
  method: 'POST',
  description:
    'Upload each file to its `upload_url`, then name it by its `attachment_id` in a follow-up. Only whoever prepared an attachment can send it, and only once.',
  tag: 'Runs',
  body: PrepareAttachmentsRequest,
  status: 201,
  response: PrepareAttachmentsResponse,
  errors: writing,
} as const

export const ATTACHMENT_ROUTES = {
  prepareRunAttachments: define({
    ...prepare,
    path: '/agent/runs/{run_id}/attachments/prepare',
    summary: 'Prepare attachments of a follow-up',
    params: z.object({ run_id: z.string().meta({ description: 'Id of the run.' }) }),
  }),
  prepareConversationAttachments: define({
    ...prepare,
    path: '/agent/conversations/{conversation_id}/attachments/prepare',
    summary: 'Prepare attachments of a follow-up to a conversation',
    params: z.object({ conversation_id: z.string().meta({ description: 'Id of the conversation.' }) }),
  }),
}
