/** Messages as the incoming webhooks of chats take them. What agents and strangers wrote calls nobody and links nowhere. */
import type { WebhookFormat } from '../contract/webhook.ts'
import type { Message } from './message.ts'

/** Rich text, of which Slack reads nothing as markup. (https://docs.slack.dev/reference/block-kit/blocks/rich-text-block) */
function toSlack({ headline, title, link, why, said, pulls, facts }: Message) {
  const text = (content: string, style?: object) => ({
    type: 'text',
    text: content,
    ...(style ? { style } : {}),
  })
  const section = (...elements: object[]) => ({ type: 'rich_text_section', elements })
  const elements = [
    section(text(`${headline}: `, { bold: true }), { type: 'link', url: link, text: title || 'the run' }),
    ...(why ? [{ type: 'rich_text_quote', elements: [text(why)] }] : []),
    ...(said ? [section(text(said))] : []),
    ...(pulls.length > 0
      ? [section(...pulls.flatMap(({ url, label }) => [{ type: 'link', url, text: label }, text(' ')]))]
      : []),
    ...(facts.length > 0 ? [section(text(facts.join(' · ')))] : []),
  ]
  return {
    // What a notification shows, and a chat that has no blocks.
    text: slackText(`${headline}: ${title}`),
    blocks: [{ type: 'rich_text', elements }],
    ...{ unfurl_links: false, unfurl_media: false },
  }
}

/** Slack itself calls nobody for `@channel` in a text; chats that take its messages may. */
const slackText = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replace(/@(?=(all|channel|everyone|here)\b)/gi, '@\u2060')
/** In angle brackets. */
const safeUrl = (url: string): string => url.replace(/[<>|\s]/g, encodeURIComponent)

const DISCORD_TITLE = 256
const DISCORD_TEXT = 4_096
const COLORS = { good: 0x2f9e44, bad: 0xe03131, wait: 0xe8890c, plain: 0x868e96 }

/** (https://docs.discord.com/developers/resources/webhook#execute-webhook) */
function toDiscord({ headline, tone, title, link, why, said, pulls, facts }: Message) {
  const description = [
    ...(why ? [discordText(why).replace(/^/gm, '> ')] : []),
    ...(said ? [discordText(said)] : []),
    ...(pulls.length > 0
      ? [pulls.map(({ url, label }) => `${discordText(label)}: <${safeUrl(url)}>`).join('\n')]
      : []),
    ...(facts.length > 0 ? [discordText(facts.join(' · '))] : []),
  ].join('\n\n')
  const embed = {
    title: cut(`${headline}: ${discordText(title)}`, DISCORD_TITLE),
    url: link,
    color: COLORS[tone],
  }
  return {
    embeds: [{ ...embed, description: cut(description, DISCORD_TEXT) }],
    allowed_mentions: { parse: [] },
  }
}

/** Markdown stays what was typed: no link under other words. */
const discordText = (text: string): string => text.replace(/[\\`*_~|<>[\]()#:@-]/g, '\\$&')

/** An Adaptive Card. Its runs of text are never read as Markdown, and name nobody. (https://adaptivecards.io) */
function toTeams({ headline, tone, title, link, why, said, pulls, facts }: Message) {
  const paragraph = (text: string, look: object = {}) => ({
    type: 'RichTextBlock',
    inlines: [{ type: 'TextRun', text, ...look }],
  })
  const color = { good: 'Good', bad: 'Attention', wait: 'Warning', plain: 'Default' }[tone]
  const open = (name: string, url: string) => ({ type: 'Action.OpenUrl', title: name, url })
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    ...{ type: 'AdaptiveCard', version: '1.4' },
    body: [
      paragraph(`${headline}: ${title}`, { weight: 'Bolder', color }),
      ...(why ? [paragraph(why, { italic: true })] : []),
      ...(said ? [paragraph(said)] : []),
      ...(facts.length > 0 ? [paragraph(facts.join(' · '), { isSubtle: true })] : []),
    ],
    actions: [open('Open', link), ...pulls.slice(0, 4).map(({ label, url }) => open(label, url))],
  }
  return {
    type: 'message',
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content }],
  }
}

const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\ud800-\udbff\\]$/, '')}…`

export const CHATS: Record<Exclude<WebhookFormat, 'runyard' | 'email'>, (message: Message) => object> = {
  slack: toSlack,
  discord: toDiscord,
  teams: toTeams,
}
