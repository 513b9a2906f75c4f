import { z } from 'zod'
import { PageInfo, paging } from './page-info.ts'
import { RunCreatorInfo } from './run.ts'
import { shownOnce } from './shown-once.ts'
import { Timestamp, TimestampInput } from './timestamp.ts'

/** Strict, since a misspelt end would be none. */
export const CreateShareLinkRequest = z
  .strictObject({
    name: z.string().trim().min(1).max(256).optional().meta({ description: 'Whom it is for, say.' }),
    expires_at: TimestampInput.optional().meta({
      description: 'When it ends by itself; default: when it is revoked.',
    }),
  })
  .meta({ id: 'CreateShareLinkRequest' })
  .nullish()

export const ShareLink = z
  .object({
    share_link_id: z.string(),
    run_id: z.string(),
    name: z.string().optional(),
    created_at: Timestamp,
    created_by: RunCreatorInfo,
    expires_at: Timestamp.optional(),
    last_used_at: Timestamp.optional().meta({ description: 'When somebody last opened the run with it.' }),
  })
  .meta({ id: 'ShareLink', description: 'A link to a run for people without a key, without its address.' })
export type ShareLink = z.infer<typeof ShareLink>

export const NewShareLink = ShareLink.extend({
  url: shownOnce('Opens the run. It is not shown again.'),
}).meta({ id: 'NewShareLink', description: 'A link that was just made.' })

export const ListShareLinksQuery = z.object({
  ...paging(100),
})
export type ListShareLinksQuery = z.infer<typeof ListShareLinksQuery>

export const ListShareLinksResponse = z
  .object({ share_links: z.array(ShareLink), page_info: PageInfo })
  .meta({ id: 'ListShareLinksResponse' })
export type ListShareLinksResponse = z.infer<typeof ListShareLinksResponse>
