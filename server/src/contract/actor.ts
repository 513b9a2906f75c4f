import { z } from 'zod'

/** What a key may do: `viewer` never writes; `admin` also manages keys, grants and what is others'. */
export const Role = z.enum(['admin', 'member', 'viewer'])
export type Role = z.infer<typeof Role>

/** Who asks: a principal, by one of its keys, whose role counts. */
export interface Actor {
  principal_id: string
  role: Role
  key_id: string
  /** The principal is a service account, whose defaults are those of its runs. */
  is_identity?: true
  /** A visitor, who has no key: sees this run and nothing else. `key_id` is that of the visit then. */
  only_run_id?: string
  /** The key is a pool's workers': it opens nothing but the workers' routes. */
  pool?: string
}

const RANK: Record<Role, number> = { viewer: 0, member: 1, admin: 2 }

/** Whether a key of one role may make or end one of another: nobody gets beyond the own role. */
export const isWithin = (role: Role, own: Role): boolean => RANK[role] <= RANK[own]
