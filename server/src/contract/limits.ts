import { z } from 'zod'

/** What a run of an environment may use; what is absent is the service's default. */
export const EnvironmentLimits = z.object({
  memory_mb: z.int().min(64).max(1_048_576).optional(),
  pids: z.int().min(16).max(32_768).optional(),
  cpus: z.number().min(0.1).max(256).optional(),
  disk_mb: z.int().min(64).max(16_777_216).optional().meta({
    description:
      'What workspace, home and temporary files may take up together, in MiB; default 10240. A run that takes more is ended.',
  }),
  setup_minutes: z.number().positive().max(240).optional(),
})
export type EnvironmentLimits = z.infer<typeof EnvironmentLimits>

/** The most that an operator lets environments ask for, each in the unit of its field. */
export type LimitMaxima = Record<keyof EnvironmentLimits, number>

/** How an operator sets them. */
const VARIABLES: Record<keyof EnvironmentLimits, string> = {
  memory_mb: 'RUNYARD_MAX_MEMORY_MB',
  pids: 'RUNYARD_MAX_PIDS',
  cpus: 'RUNYARD_MAX_CPUS',
  disk_mb: 'RUNYARD_MAX_DISK_MB',
  setup_minutes: 'RUNYARD_MAX_SETUP_MINUTES',
}

/** The first limit above the operator's maximum, in words that name both; `null` when there is none. */
export function findExcess(limits: EnvironmentLimits | undefined, maxima: LimitMaxima): string | null {
  for (const [field, variable] of Object.entries(VARIABLES) as Array<[keyof LimitMaxima, string]>) {
    const asked = limits?.[field]
    if (asked !== undefined && asked > maxima[field])
      return `limits.${field}: ${asked} is too much, at most ${maxima[field]} here (${variable})`
  }
  return null
}
