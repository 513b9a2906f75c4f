import { z } from 'zod'
import { tame } from '../mcp-limits.ts'
import { defineTool, failure, resolvePath } from './tool.ts'

const MAX_TITLE = 200
const MAX_DESCRIPTION = 2_000

export const attachArtifact = defineTool({
  name: 'attach_artifact',
  description:
    'Attaches a file of the workspace or of your home directory to the run, at once, where people find it: a report, a build, a ' +
    'screenshot. It is kept as it is now; attach it again when it has changed. Set screenshot for an image that is to be shown as one.',
  input: z.object({
    path: z.string().min(1).max(4096).describe('Relative paths start in the working directory.'),
    title: z.string().max(MAX_TITLE).default('').describe('One line that says what it is.'),
    description: z.string().max(MAX_DESCRIPTION).default(''),
    screenshot: z.boolean().default(false).describe('A PNG, JPEG or WebP image.'),
  }),
  needs: 'keeper',
  repeatable: true,
  title: ({ path }) => `attach ${path}`,
  async run({ path, screenshot, ...said }, { turn }) {
    if (!turn.keeper) return failure('Nothing can be attached here.')
    const title = tame(said.title.replace(/\s+/g, ' ').trim(), MAX_TITLE)
    const description = tame(said.description.trim(), MAX_DESCRIPTION)
    const kept = await turn.keeper.attach({
      path: resolvePath(turn, path),
      screenshot,
      signal: turn.signal,
      ...(title && { title }),
      ...(description && { description }),
    })
    if ('refusal' in kept) return failure(kept.refusal)
    return {
      output: `Attached ${kept.filepath} (${kept.mime_type}, ${kept.size_bytes} bytes).`,
      is_error: false,
    }
  },
})
