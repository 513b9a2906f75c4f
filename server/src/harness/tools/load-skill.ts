import { z } from 'zod'
import { clip } from '../cut-text.ts'
import type { SkillBook, Tool } from '../harness.ts'
import { defineTool, failure } from './tool.ts'

const MAX_CHARACTERS = 60_000

/** Offered where the run's repositories have skills. */
export const loadSkill = (skills: SkillBook): Tool =>
  defineTool({
    name: 'load_skill',
    description:
      'Reads a skill of the repositories: instructions for one kind of task, written by those who keep them. Load the ones ' +
      'that fit the task before you begin. With file, reads one of its other files.',
    input: z.object({
      skill: z
        .string()
        .min(1)
        .max(1024)
        .describe('Its name, or its id where there are several of that name.'),
      file: z.string().min(1).max(1024).optional().describe('Path of a file below the folder of the skill.'),
    }),
    title: ({ skill, file }) => `skill: ${[skill, file].filter(Boolean).join(' ')}`,
    async run({ skill, file }, { turn }) {
      const read = await skills.read(skill, file)
      if ('refusal' in read) return failure(read.refusal)
      const text = clip(read.text, MAX_CHARACTERS, turn.mask)
      if (file !== undefined) return { output: text, is_error: false }
      const files =
        read.files.length > 0 ? `\n\n[Its files, below ${read.directory}: ${read.files.join(', ')}]` : ''
      return { output: `${text}${files}`, is_error: false }
    },
  })
