import { z } from 'zod'
import { Timestamp } from './timestamp.ts'

const count = z.int().optional()

/** As Claude Code counts: what came from a cache or went into one is not among `input_tokens`. */
const ClaudeTokens = z
  .object({
    input_tokens: count,
    output_tokens: count,
    cache_read_input_tokens: count,
    cache_creation_input_tokens: count,
  })
  .meta({
    id: 'ClaudeTokens',
    description: 'As Claude Code counts: tokens of the cache are not among `input_tokens`.',
  })

/** As Codex counts: what came from a cache or went into one is among `input_tokens`. */
const CodexTokens = z
  .object({
    input_tokens: count,
    output_tokens: count,
    cached_input_tokens: count,
    cache_write_input_tokens: count,
    total_tokens: count,
  })
  .meta({
    id: 'CodexTokens',
    description: 'As Codex counts: tokens of the cache are among `input_tokens`.',
  })

const Coverage = z.enum(['known', 'partial', 'unavailable']).meta({
  id: 'UsageCoverage',
  description: '`partial`: some answers of models did not say it all. `unavailable`: nothing is known.',
})

const ToolCalls = z
  .object({
    byName: z.record(z.string(), z.int()),
    total: z.int().meta({ description: 'The sum of `byName`.' }),
  })
  .meta({ id: 'HarnessToolCalls' })

const envelope = <const H extends string, T extends z.ZodType>(harness: H, tokens: T) =>
  z.object({
    harness: z.literal(harness),
    capturedAt: Timestamp.meta({ description: 'When the run used something last.' }),
    captureSequence: z.int().meta({ description: 'The place of that event in the log.' }),
    executionId: z
      .int()
      .meta({ description: 'The execution that used it. The counts are of all executions.' }),
    metricsVersion: z.literal(1),
    snapshot: z.object({
      coverage: z.object({ tokenStatus: Coverage, toolStatus: Coverage }),
      payload: z.object({
        usage: tokens.optional(),
        attribution: z
          .array(z.object({ model: z.string(), usage: tokens }))
          .optional()
          .meta({ description: 'By model.' }),
        toolCalls: ToolCalls.optional(),
      }),
    }),
  })

/** camelCase, unlike the rest of the API: published clients ask for these names. */
export const HarnessUsage = z
  .discriminatedUnion('harness', [
    envelope('CLAUDE_CODE', ClaudeTokens).meta({ id: 'ClaudeHarnessUsage' }),
    envelope('CODEX', CodexTokens).meta({ id: 'CodexHarnessUsage' }),
  ])
  .meta({ id: 'HarnessUsage' })
export type HarnessUsage = z.infer<typeof HarnessUsage>

export const RunHarnessUsage = z
  .object({
    available: z.boolean().meta({
      description: 'False until Claude Code or Codex has used something, and of runs of other agents.',
    }),
    run_id: z.string(),
    conversation_id: z.string(),
    age_seconds: z.int().optional().meta({ description: 'Since `usage.capturedAt`.' }),
    usage: HarnessUsage.optional(),
  })
  .meta({ id: 'RunHarnessUsage' })
export type RunHarnessUsage = z.infer<typeof RunHarnessUsage>
