import type { Message } from './message.ts'

export interface Letter {
  subject: string
  text: string
  html: string
}

/** The message as an e-mail. `page`: where it is turned off. */
export function writeLetter(
  { headline, title, link, why, said, pulls, facts }: Message,
  { page, set_up_by }: { page: string; set_up_by: string },
): Letter {
  const subject = `${headline}: ${title}`
  const end = `${set_up_by.replace(/\s+/g, ' ')} set up these messages. Turn them off: `
  const text = [
    `${subject}\n${link}`,
    ...(why ? [why.replace(/^/gm, '> ')] : []),
    ...(said ? [said] : []),
    ...(pulls.length > 0 ? [pulls.map(({ url, label }) => `${label}: ${url}`).join('\n')] : []),
    ...(facts.length > 0 ? [facts.join(' · ')] : []),
    // What mail programs take for a signature.
    `-- \n${end}${page}`,
  ].join('\n\n')
  const lines = 'white-space:pre-wrap;overflow-wrap:anywhere'
  const html = [
    `<p><strong>${asHtml(headline)}:</strong> ${anchor(link, title)}</p>`,
    ...(why ? [`<blockquote style="${lines}">${asHtml(why)}</blockquote>`] : []),
    ...(said ? [`<p style="${lines}">${asHtml(said)}</p>`] : []),
    ...(pulls.length > 0 ? [`<p>${pulls.map(({ url, label }) => anchor(url, label)).join('<br>')}</p>`] : []),
    ...(facts.length > 0 ? [`<p>${asHtml(facts.join(' · '))}</p>`] : []),
    `<hr><p><small>${asHtml(end)}${anchor(page, page)}</small></p>`,
  ].join('\n')
  return { subject, text, html }
}

const anchor = (url: string, label: string): string =>
  /^https?:/.test(url) ? `<a href="${asHtml(url)}">${asHtml(label)}</a>` : asHtml(label)

const SIGNS: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const asHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => SIGNS[sign] ?? sign)
