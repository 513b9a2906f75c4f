/** What schedules and triggers ask for alike: of runs to be. */
import { z } from 'zod'
import type { AmbientAgentConfig } from './agent-config.ts'

export const TemplateName = z
  .string()
  .trim()
  .min(1)
  .max(256)
  .refine((name) => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(name), 'must have no control characters')
  .meta({ description: 'Trimmed; need not be unique.' })

type Prompted = { prompt?: string | undefined; agent_config?: AmbientAgentConfig | undefined }

/** A run needs a prompt, or a skill that stands for it. */
export const requirePrompt = (ctx: z.core.ParsePayload<Prompted>): void => {
  const { prompt, agent_config } = ctx.value
  if (prompt?.trim() || agent_config?.skill_spec || agent_config?.skills?.[0]) return
  ctx.issues.push({
    code: 'custom',
    path: ['prompt'],
    message: 'is required unless agent_config.skill_spec or agent_config.skills is given',
    input: prompt,
  })
}
