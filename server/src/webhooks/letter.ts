import type { Message } from './message.ts'

export interface Letter {
  subject: string
  text: string
  html: string
}

/** The message as an e-mail. `page`: where it is turned off; `null`: whoever set it up alone can. */
export function writeLetter(
  { headline, title, link, why, said, pulls, facts }: Message,
  { page, set_up_by }: { page: string | null; set_up_by: string },
): Letter {
  const subject = `${headline}: ${title}`
  const name = set_up_by.replace(/\s+/g, ' ')
  const end = `${name} set up these messages. ${page ? 'Turn them off: ' : `Only ${name} can turn them off.`}`
  const text = [
    `${subject}\n${link}`,
    // So that nothing that was said looks like our own words below it.
    ...[why, said].flatMap((words) => (words ? [words.replace(/\r\n?/g, '\n').replace(/^/gm, '> ')] : [])),
    ...(pulls.length > 0 ? [pulls.map(({ url, label }) => `${label}: ${url}`).join('\n')] : []),
    ...(facts.length > 0 ? [facts.join(' · ').replace(/\s+/g, ' ')] : []),
    // What mail programs take for a signature.
    `-- \n${end}${page ?? ''}`,
  ].join('\n\n')
  const lines = 'white-space:pre-wrap;overflow-wrap:anywhere'
  const html = [
    `<p><strong>${asHtml(headline)}:</strong> ${anchor(link, title)}</p>`,
    ...[why, said].flatMap((words) =>
      words ? [`<blockquote style="${lines}">${asHtml(words)}</blockquote>`] : [],
    ),
    ...(pulls.length > 0 ? [`<p>${pulls.map(({ url, label }) => anchor(url, label)).join('<br>')}</p>`] : []),
    ...(facts.length > 0 ? [`<p>${asHtml(facts.join(' · '))}</p>`] : []),
    `<hr><p><small>${asHtml(end)}${page ? anchor(page, page) : ''}</small></p>`,
  ].join('\n')
  return { subject, text, html }
}

const anchor = (url: string, label: string): string =>
  /^https?:/.test(url) ? `<a href="${asHtml(url)}">${asHtml(label)}</a>` : asHtml(label)

const SIGNS: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const asHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => SIGNS[sign] ?? sign)
