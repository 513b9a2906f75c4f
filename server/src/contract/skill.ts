import { z } from 'zod'
import { flag } from './flag.ts'
import { Timestamp } from './timestamp.ts'

const place = {
  id: z.string().meta({ description: '`owner/repo:path/SKILL.md`: what `skill` of a run takes.' }),
  name: z.string(),
  owner: z.string(),
  repo: z.string(),
  path: z.string(),
}

/** What was found in the repositories of one environment, as it is kept. */
export interface EnvironmentSkills {
  skills: Array<SkillPlace & { description: string; text: string; commit: string }>
  malformed: Array<SkillPlace & { error: string }>
}
/** What was found by an earlier version has no host. */
type SkillPlace = z.infer<z.ZodObject<typeof place>> & { host?: string | null }

export const AgentSkill = z
  .object({
    name: z.string().meta({ description: 'Of the skill.' }),
    variants: z.array(
      z.object({
        id: place.id,
        base_prompt: z
          .string()
          .meta({ description: 'The text of the skill, up to 8,192 characters; a run has all of it.' }),
        description: z.string(),
        environments: z.array(z.object({ name: z.string(), uid: z.string() })),
        source: z.object({ owner: z.string(), name: z.string(), skill_path: z.string() }),
        last_run_timestamp: Timestamp.nullable().optional().meta({
          description: 'When a run that the caller may see was last created with it.',
        }),
        error: z.string().optional().meta({ description: 'Why it cannot be used.' }),
      }),
    ),
  })
  .meta({ id: 'AgentSkill' })
export type AgentSkill = z.infer<typeof AgentSkill>

export const ListSkillsQuery = z.object({
  repo: z
    .string()
    .max(256)
    .optional()
    .meta({ description: 'Of this repository only: `owner/repo`, or its address.' }),
  sort_by: z.enum(['name', 'last_run']).optional().meta({ description: 'Default `name`.' }),
  include_malformed_skills: flag()
    .optional()
    .meta({ description: 'Those that cannot be used as well, with `error`.' }),
  refresh: flag().optional().meta({
    description:
      'The repositories are read again, as they are now, before the list is made. It waits for that up to 30 seconds. Viewers may not.',
  }),
})
export type ListSkillsQuery = z.infer<typeof ListSkillsQuery>

export const ListSkillsResponse = z
  .object({
    agents: z.array(AgentSkill),
    not_refreshed: z
      .array(z.object({ name: z.string(), uid: z.string(), reason: z.string() }))
      .optional()
      .meta({
        description:
          'With `refresh`: environments that could not be read again, and why. Of these the list has what was kept.',
      }),
  })
  .meta({ id: 'ListSkillsResponse' })
