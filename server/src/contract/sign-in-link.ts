import { z } from 'zod'
import { uuid } from './run-id.ts'
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
    principal_id: uuid('must be the id of a person')
      .optional()
      .meta({ description: 'The person whom it signs in; default: the caller. For admins.' }),
  })
  .meta({ id: 'CreateSignInLinkRequest' })
  .nullish()

export const SignInLink = z
  .object({
    url: shownOnce('Opens the page, signed in. It works once.'),
    expires_at: Timestamp.meta({ description: 'In 60 seconds; for another person in 24 hours.' }),
  })
  .meta({ id: 'SignInLink' })
