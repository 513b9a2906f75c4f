import { z } from 'zod'

export const PermissionRule = z
  .object({
    tool: z.string().trim().min(1).max(200).meta({
      description:
        'Name of a tool, `*` in it for any text: `bash`, `edit`, `files_*`. Those of agents go by their own name and by the one that this service has for what they do.',
    }),
    pattern: z.string().min(1).max(200).optional().meta({
      description:
        'What the call is about, `*` in it for any text: the command, the path (absolute, or below the working directory), the address; of other tools the input as JSON. Absent: every call.',
    }),
    action: z.enum(['allow', 'ask', 'deny']).meta({
      description:
        '`ask`: the run is BLOCKED until somebody answers. `deny`: the call is not made, and the agent is told so.',
    }),
  })
  .meta({ id: 'PermissionRule' })
export type PermissionRule = z.infer<typeof PermissionRule>

/** The first rule that fits decides; where none does, the call is allowed. */
export const Permissions = z.array(PermissionRule).max(100)
export type Permissions = z.infer<typeof Permissions>
