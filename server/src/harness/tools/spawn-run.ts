import { z } from 'zod'
import { defineTool, failure } from './tool.ts'

export const spawnRun = defineTool({
  name: 'spawn_run',
  description:
    'Creates another run, which works beside you in a workspace of its own made of the same environment: it sees nothing of yours, ' +
    'so its prompt says all that it needs, and what it changes comes back only where it is pushed or told. Use it for parts of the ' +
    'task that do not depend on each other. read_run tells how far it is.',
  input: z.object({
    prompt: z.string().trim().min(1).max(100_000),
    title: z.string().trim().max(200).default('').describe('One line for people.'),
    model: z.string().trim().max(256).default('').describe('Another model than yours, as provider/model.'),
    skill: z.string().trim().max(1_024).default('').describe('A skill of the repositories to start it with.'),
  }),
  needs: 'children',
  repeatable: true,
  title: ({ prompt, title }) => `run: ${title || (prompt.split('\n', 1)[0] ?? '')}`,
  async run({ prompt, title, model, skill }, { turn, tool_call_id }) {
    if (!turn.children) return failure('No runs can be created here.')
    const request = {
      prompt,
      ...(title && { title }),
      ...(model && { model_id: model }),
      ...(skill && { skill }),
    }
    const spawned = await turn.children.spawn(request, tool_call_id)
    return 'refusal' in spawned
      ? failure(`No run was created. ${spawned.refusal}`)
      : { output: `Created the run ${spawned.run_id}. Its state is QUEUED.`, is_error: false }
  },
})
