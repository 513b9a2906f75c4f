import { z } from 'zod'
import { shownOnce } from './shown-once.ts'
import { Timestamp } from './timestamp.ts'

/** Of this page alone: no scheme, no host, nothing that a browser takes for one. */
const OWN_PATH = /^\/(?![/\\])[^\\\s]*$/

export const CreateSignInLinkRequest = z
  .strictObject({
    path: z
      .string()
      .max(1024)
      .regex(OWN_PATH, 'must be a path of this service, such as /sessions/…')
      .optional()
      .meta({ description: 'What the page shows then; default: the runs.' }),
  })
  .meta({ id: 'CreateSignInLinkRequest' })
  .nullish()

export const SignInLink = z
  .object({
    url: shownOnce('Opens the page, signed in. It works once.'),
    expires_at: Timestamp.meta({ description: 'In 60 seconds.' }),
  })
  .meta({ id: 'SignInLink' })
