import { z } from 'zod'
import { defineTool, failure } from './tool.ts'

const SAME_FILES = "nothing was opened: another run's open pull request has the same files"

export const openPullRequest = defineTool({
  name: 'open_pull_request',
  description:
    'Commits what is not committed, pushes it as the branch of this run and opens a pull request for it. Where one is open ' +
    'already, what is new is pushed to it and its text stays. Use it when the work is done and was asked for as a pull request.',
  input: z.object({
    title: z.string().trim().min(1).max(200).describe('One line that says what changes.'),
    body: z.string().max(60_000).default('').describe('What was changed and why, in Markdown.'),
    repository: z
      .string()
      .max(128)
      .optional()
      .describe('Folder of the repository below /workspace; only needed where there are several.'),
  }),
  needs: 'push',
  title: ({ title }) => `pull request: ${title}`,
  async run({ title, body, repository }, { turn }) {
    if (!turn.push) return failure('This environment has no repository that can be pushed.')
    const request = { title, body, pull_request: true, ...(repository ? { directory: repository } : {}) }
    const outcome = await turn.push(request)
    if ('failure' in outcome) return failure(outcome.failure)
    if (outcome.pushed.length === 0)
      return failure('Nothing was changed in a repository that can be pushed, so there is nothing to open.')
    const lines = outcome.pushed.map(
      ({ repository, branch, url, is_linked }) =>
        `${repository}: ${branch}, ${url}${is_linked ? ` (${SAME_FILES})` : ''}`,
    )
    return { output: lines.join('\n'), is_error: false }
  },
})
