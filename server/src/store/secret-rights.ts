/** Conditions on who may use the secret `s`: its owner; of the team's everybody where it has no grants, else who is named and admins. */
import { type RawBuilder, sql } from 'kysely'
import { activeKey } from './api-keys.ts'

type Principal = RawBuilder<unknown>

/** Only those who are named, and admins, may use it. */
export const isRestricted = sql<boolean>`(s.owner_id is null and exists (
  select from grants g where g.resource_type = 'secret' and g.resource_id = s.name))`

/** With none of somebody's keys at hand an admin is who has a working key of one. */
const mayUse = (principal: Principal): RawBuilder<boolean> => sql<boolean>`(exists (
    select from grants g where g.resource_type = 'secret' and g.resource_id = s.name and g.principal_id = ${principal})
  or exists (
    select from api_keys k join principals p using (principal_id)
    where k.principal_id = ${principal} and k.role = 'admin' and ${activeKey}))`

const mayUseIdentity = (
  identity: Principal,
  principal: Principal,
): RawBuilder<boolean> => sql<boolean>`exists (
  select from identities i where i.principal_id = ${identity} and (${principal} in (i.principal_id, i.creator_id) or exists (
    select from grants g where g.resource_type = 'identity' and g.resource_id = i.principal_id::text
      and g.principal_id = ${principal})))`

/**
 * An execution may use it: who executes it may, and so may whoever sent a message that waits for it. Who may use an identity has
 * what that may use.
 */
export const isUsableIn = (executor: Principal, run_id: Principal): RawBuilder<boolean> => sql<boolean>`(
  not ${isRestricted} or (${mayUse(executor)} and not exists (
    select from followups f where f.run_id = ${run_id} and f.delivered_at is null
      and not ${mayUse(sql`f.author_id`)} and not ${mayUseIdentity(executor, sql`f.author_id`)})))`
