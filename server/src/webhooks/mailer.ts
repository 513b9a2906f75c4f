import { NO_RUN } from '../contract/webhook.ts'
import { LETTER_TAKEN_MS } from '../store/webhook-deliveries.ts'
import type { Letter } from './letter.ts'

const MAX_ANSWER = 300

export interface MailLimits {
  /** Until the server can be written to. */
  connect_ms: number
  /** For each answer: a server that looks for viruses may take minutes before it accepts a letter (RFC 5321, 4.5.3.2.6). */
  answer_ms: number
  /** From beginning to end, so that nobody else sends the letter meanwhile. */
  whole_ms: number
}
const LIMITS: MailLimits = {
  connect_ms: 15_000,
  answer_ms: 10 * 60_000,
  whole_ms: LETTER_TAKEN_MS - 60_000,
}

export interface MailSettings {
  /** `smtp://` or `smtps://`, with a user and a password perhaps. */
  smtp_url: string
  /** An address, with a name perhaps. */
  from: string
  /** Domains that may be written to; `*`: all. */
  domains: readonly string[]
}

/** Whose message it is: the same id each time it is tried, and one thread for all of a run. */
export interface Envelope {
  to: string
  delivery_id: string
  run_id: string
  /** Where letters are turned off by whoever gets them; `null`: nowhere. */
  page: string | null
}

export type Mailed = { error: string | null; response_status: number | null; body: string }
/** Ends with the signal, too. */
export type Mailer = (letter: Letter, envelope: Envelope, signal?: AbortSignal) => Promise<Mailed>

/** Why nothing is ever sent to this domain; `null`: it may be. */
export function whyNotMailed(mail: MailSettings | undefined, domain: string): string | null {
  if (!mail)
    return 'E-mail is not set up here. The operator sets RUNYARD_SMTP_URL, RUNYARD_MAIL_FROM and RUNYARD_MAIL_DOMAINS.'
  if (mail.domains.includes('*') || mail.domains.includes(domain)) return null
  return `E-mail goes to ${mail.domains.join(', ')} only. The operator names more domains in RUNYARD_MAIL_DOMAINS.`
}

/** Sends letters by the operator's mail server, one connection each. */
export function createMailer(
  { smtp_url, from }: Omit<MailSettings, 'domains'>,
  { connect_ms, answer_ms, whole_ms } = LIMITS,
): Mailer {
  const needs_tls = mustEncrypt(new URL(smtp_url))
  const host = from.replace(/^.*@|>$/g, '')
  return async ({ subject, text, html }, { to, delivery_id, run_id, page }, stop) => {
    const limit = AbortSignal.timeout(whole_ms)
    const signal = stop ? AbortSignal.any([limit, stop]) : limit
    // With the first letter: a start does not wait for it.
    const { createTransport } = await import('nodemailer')
    const transport = createTransport({
      ...{ url: smtp_url, connectionTimeout: connect_ms, greetingTimeout: connect_ms },
      ...(needs_tls ? { requireTLS: true } : {}),
      // Closed at once: a server that goes on answering must not keep the connection.
      ...{ socketTimeout: answer_ms, socketCloseTimeout: 0 },
      // A letter holds text alone, whatever is in it.
      ...{ disableFileAccess: true, disableUrlAccess: true },
    })
    try {
      const { response } = await transport.sendMail({
        ...{ from, to: { name: '', address: to }, subject, text, html, signal },
        messageId: `<${delivery_id}@${host}>`,
        // Tests are about no run, so they are no thread.
        ...(run_id === NO_RUN ? {} : { references: [`<run.${run_id}@${host}>`] }),
        ...(page ? { list: { unsubscribe: { url: page, comment: '' } } } : {}),
        // So that no machine answers.
        headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
      })
      const code = codeOf(response)
      return { error: null, response_status: code, body: `The mail server accepted the letter (${code}).` }
    } catch (error) {
      return signal.aborted ? TOO_SLOW : explain(error)
    } finally {
      transport.close()
    }
  }
}

const TOO_SLOW: Mailed = {
  error: 'The mail server took too long to accept the letter, which may arrive all the same.',
  response_status: null,
  body: '',
}

/** A password goes in clear text to this machine alone. */
const mustEncrypt = ({ protocol, username, hostname }: URL): boolean =>
  protocol === 'smtp:' && username !== '' && !/^(localhost|127(\.\d+){3}|\[::1\])$/i.test(hostname)

const codeOf = (response: string): number => Number(/^\d{3}/.exec(response)?.[0] ?? 250)

/** What the server answered is for whoever wrote the address; where it is, and how one gets in, is the operator's. */
function explain(error: unknown): Mailed {
  const { responseCode, response, code, command } = error as {
    responseCode?: number
    response?: string
    code?: string
    command?: string
  }
  if (code === 'ETLS')
    return {
      error: 'The connection to the mail server could not be encrypted.',
      response_status: null,
      body: '',
    }
  if (code === 'EAUTH')
    return { error: 'The mail server refused the login of this service.', response_status: null, body: '' }
  if (typeof responseCode !== 'number')
    return { error: 'The mail server could not be reached, or broke off.', response_status: null, body: '' }
  const is_about_letter = command === 'RCPT TO' || command === 'DATA'
  const said = (is_about_letter ? (response ?? '') : '').replace(/[^\P{C}]+/gu, ' ').slice(0, MAX_ANSWER)
  return {
    error: `The mail server answered ${said || `${responseCode}.`}`,
    response_status: responseCode,
    body: '',
  }
}
