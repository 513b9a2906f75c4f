import { z } from 'zod'
import { tame } from '../mcp-limits.ts'
import { defineTool, failure } from './tool.ts'
import { readWebAddress } from './web-address.ts'

const MAX_TITLE = 200

export const reportReference = defineTool({
  name: 'report_reference',
  description:
    'Names something outside that belongs to this run, so that people find it: a ticket, a deployment, a document. One of each ' +
    'address: a second call with it changes its title.',
  input: z.object({
    url: z.string().min(1).max(4096).describe('An https or http address.'),
    type: z
      .enum(['ticket', 'pull_request', 'commit', 'build', 'deployment', 'document', 'dashboard', 'other'])
      .default('other'),
    title: z.string().max(MAX_TITLE).default('').describe('One line that says what it is.'),
  }),
  needs: 'keeper',
  repeatable: true,
  title: ({ url, title }) => `reference: ${title.trim() || url}`,
  async run({ url: given, type, title: said }, { turn }) {
    if (!turn.keeper) return failure('Nothing can be reported here.')
    const url = readWebAddress(given)
    if ('refusal' in url) return failure(url.refusal)
    const title = tame(said.replace(/\s+/g, ' ').trim(), MAX_TITLE)
    const reported = await turn.keeper.report({
      url: url.href,
      reference_type: type.toUpperCase(),
      ...(title && { title }),
    })
    if ('refusal' in reported) return failure(reported.refusal)
    const how = reported.known ? 'It had been reported; it says what you said now.' : 'Reported.'
    return { output: how, is_error: false }
  },
})
