import { z } from 'zod'
import { AppError } from './contract/error.ts'
import { BROKEN_USER, hasBrokenUser } from './contract/percent.ts'
import { splitList } from './setting.ts'
import type { MailSettings } from './webhooks/mailer.ts'

const FROM = /^(?:[^<>@\r\n]+ <[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/

export const MAIL_VARIABLES = {
  RUNYARD_SMTP_URL: z
    .url({
      protocol: /^smtps?$/,
      error: 'must be an smtp or smtps address, such as smtps://USER:PASSWORD@mail.example.com',
    })
    .refine((text) => !hasBrokenUser(text), BROKEN_USER)
    .optional(),
  RUNYARD_MAIL_FROM: z
    .string()
    .regex(FROM, 'must be an e-mail address, with a name perhaps, such as Runyard <runyard@example.com>')
    .optional(),
  RUNYARD_MAIL_DOMAINS: z
    .string()
    .toLowerCase()
    .transform(splitList)
    .refine(
      (domains) => domains.every((domain) => /^(\*|[a-z0-9-]+(\.[a-z0-9-]+)*)$/.test(domain)),
      'must be domains with commas between them, such as example.com,example.org, or * for all',
    )
    .optional(),
}
const Variables = z.object(MAIL_VARIABLES)

/** The sender's own domain is no default: at a public mail provider it is everybody's. */
export function readMail(env: z.infer<typeof Variables>): MailSettings | undefined {
  const { RUNYARD_SMTP_URL: smtp_url, RUNYARD_MAIL_FROM: from, RUNYARD_MAIL_DOMAINS: domains } = env
  if (!smtp_url) return undefined
  if (!from) throw new AppError('invalid_request', 'RUNYARD_MAIL_FROM: is needed with RUNYARD_SMTP_URL.')
  if (!domains?.length)
    throw new AppError(
      'invalid_request',
      'RUNYARD_MAIL_DOMAINS: is needed with RUNYARD_SMTP_URL. Name the domains that letters may go to, such as example.com, or * for all.',
    )
  return { smtp_url, from, domains }
}
