import { z } from 'zod'
import { TURN_STOPPED } from '../../log/interruption.ts'
import type { ToolOutcome, Turn } from '../harness.ts'
import { keepOutput, OUTPUT_NOTE } from '../keep-output.ts'
import { tame } from '../mcp-limits.ts'
import { fetchText } from '../page-fetch.ts'
import { readPage } from '../page-text.ts'
import type { ToolServices } from '../tool-services.ts'
import { defineTool, failure } from './tool.ts'

const LIMIT_SECONDS = 30

export const fetchUrl = defineTool({
  name: 'fetch_url',
  description:
    'Gets a page or a text of the web and returns it as text, HTML as Markdown. Reaches what the network policy of this run lets ' +
    `through, and says what it refuses. No sign-in, no forms, no JavaScript. ${OUTPUT_NOTE}`,
  input: z.object({ url: z.string().min(1).max(4096).describe('An https or http address.') }),
  needs: 'fetchPage',
  repeatable: true,
  title: ({ url }) => `fetch ${url}`,
  async run({ url }, { turn, tool_call_id }) {
    if (!turn.fetchPage) return failure('The network policy of this run lets nothing out.')
    const got = await getText(turn.fetchPage, url, turn)
    if ('refusal' in got) return failure(got.refusal)
    return { ...got, output: await keepOutput({ turn, tool_call_id }, got.output) }
  },
})

async function getText(
  fetchPage: NonNullable<ToolServices['fetchPage']>,
  url: string,
  { signal, mask, maskStream }: Pick<Turn, 'signal' | 'mask' | 'maskStream'>,
): Promise<ToolOutcome | { refusal: string }> {
  const late = AbortSignal.timeout(LIMIT_SECONDS * 1_000)
  const over = AbortSignal.any([signal, late])
  try {
    const page = await fetchText(fetchPage, url, { signal: over, mask })
    if ('refusal' in page) return page
    // Markdown escapes what a value may hold, and the end may be the half of one.
    const hidden = maskStream()
    const whole = hidden.push(page.text) + (page.is_cut ? '' : hidden.end())
    const is_page = /^(text\/html|application\/xhtml\+xml)$/.test(page.type)
    const markdown = is_page ? (await readPage(whole, over))?.replaceAll('\\*\\*\\*', '***') : null
    if (signal.aborted) return { refusal: TURN_STOPPED }
    const about = [`HTTP ${page.status}`, page.type, page.is_cut ? 'only its beginning' : ''].filter(Boolean)
    const text = tame(markdown ?? whole, Number.POSITIVE_INFINITY).trim()
    const output = `[${page.url}: ${about.join(', ')}]\n\n${text || '(no text)'}`
    return { output, is_error: page.status >= 400 }
  } catch (error) {
    if (signal.aborted) return { refusal: TURN_STOPPED }
    if (late.aborted) return { refusal: `There was no whole answer within ${LIMIT_SECONDS} seconds.` }
    // What was packed badly fails without a message.
    const why = (error instanceof Error && error.message) || 'its answer cannot be read.'
    return { refusal: `It could not be fetched: ${tame(mask(why), 500)}` }
  }
}
