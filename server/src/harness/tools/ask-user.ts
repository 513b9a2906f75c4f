import { z } from 'zod'
import { defineTool } from './tool.ts'

export const askUser = defineTool({
  name: 'ask_user',
  description:
    'Asks the user one question and stops: the run waits, perhaps for days, until somebody answers, and the answer is the ' +
    'next message. Use it only when the work cannot go on without a decision that is not yours; else decide and say so.',
  input: z.object({
    question: z.string().trim().min(1).max(4000).describe('With what one needs to know to answer it.'),
    options: z
      .array(z.string().trim().min(1).max(200))
      .max(10)
      .default([])
      .describe('Answers to choose from.'),
  }),
  title: ({ question }) => `question: ${question.split('\n', 1)[0]}`,
  ends: ({ question, options }) => ({
    state: 'BLOCKED',
    status_message: {
      message: [question, ...options.map((option, at) => `${at + 1}. ${option}`)].join('\n'),
      retryable: false,
      waits_for: 'answer',
    },
  }),
  run: async () => ({ output: 'Asked. What the user says next is the answer.', is_error: false }),
})
