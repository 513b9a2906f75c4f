import { z } from 'zod'

export const EgressRanges = z
  .object({
    cidrs: z.array(z.string()).meta({
      description:
        'IPv4 and IPv6 networks, as in `203.0.113.0/28`, each once. Empty while the operator names none (`RUNYARD_EGRESS_RANGES`).',
    }),
  })
  .meta({ id: 'EgressRanges' })
export type EgressRanges = z.infer<typeof EgressRanges>
