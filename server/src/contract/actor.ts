import { z } from 'zod'

/** What a key may do: `viewer` never writes; `admin` also manages keys. */
export const Role = z.enum(['admin', 'member', 'viewer'])
export type Role = z.infer<typeof Role>

/** Who asks: a principal, by one of its keys, whose role counts. */
export interface Actor {
  principal_id: string
  role: Role
  key_id: string
}
