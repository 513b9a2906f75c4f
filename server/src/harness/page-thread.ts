/** A thread of its own: makes Markdown of a page. What a page is made of is anybody's choice, and time and memory with it. */
import { parentPort, workerData } from 'node:worker_threads'
import { NodeHtmlMarkdown } from 'node-html-markdown'

/** As much as is read of a page. */
const MAX_CHARACTERS = 5 * 1024 ** 2

const UNSEEN = [
  'svg',
  'noscript',
  'template',
  'iframe',
  'object',
  'canvas',
  'video',
  'audio',
  'textarea',
  'select',
]

const { html } = workerData as { html: string }
const title = /<title\b[^>]{0,200}>([^<]{1,1000})/i.exec(html.slice(0, 100_000))?.[1]?.trim()
// Whatever is in it: the converter reads it as it reads the page.
const page = `${title ? `<h1>${title}</h1>` : ''}${html}`
const text = NodeHtmlMarkdown.translate(page, { ignore: UNSEEN, maxConsecutiveNewlines: 2 })
// Tables are filled up with spaces, so a small page can become a huge text, which somebody has to read.
if (text.length > MAX_CHARACTERS) throw new Error('The text is too long.')
parentPort?.postMessage(text)
