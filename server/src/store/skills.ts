import { sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import type { EnvironmentConfig } from '../contract/environment.ts'
import type { EnvironmentSkills } from '../contract/skill.ts'
import type { Db } from './db.ts'
import { visibleTo } from './runs.ts'
import { json } from './storable.ts'

/**
 * Keeps what was found with the configuration of that time; with a later one nothing is known. Written only where something has
 * changed: every run of the environment looks. `last_updated` comes from the driver, in milliseconds.
 */
export async function recordSkills(
  db: Db,
  { uid, last_updated }: { uid: string; last_updated: Date },
  found: EnvironmentSkills,
): Promise<void> {
  await sql`
    insert into environment_skills as s (environment_id, found, version)
    select e.uid, ${json(found)}, e.last_updated from environments e
    where e.uid = ${uid} and date_trunc('milliseconds', e.last_updated) = ${last_updated}::timestamptz
    on conflict (environment_id) do update
    set found = excluded.found, version = excluded.version, read_at = clock_timestamp()
    where (s.found, s.version) is distinct from (excluded.found, excluded.version)`.execute(db)
}

export interface SkillsOfEnvironment {
  uid: string
  name: string
  found: EnvironmentSkills
}

/** Of all that is listed at once. */
const MAX_BYTES = 16 * 1024 ** 2

/** Of environments whose configuration is still the one they were found with, in the order of their names. */
export async function readSkills(db: Db): Promise<SkillsOfEnvironment[]> {
  const { rows } = await sql<SkillsOfEnvironment>`
    select uid, name, found from (
      select e.uid, e.name, s.found,
        sum(octet_length(s.found::text)) over (order by e.name collate "C", e.uid) as bytes
      from environments e join environment_skills s on s.environment_id = e.uid
      where s.version = e.last_updated) listed
    where bytes <= ${MAX_BYTES} order by name collate "C", uid`.execute(db)
  return rows
}

/** The environments that may have skills, in the order of their names. */
export async function readSkillPlaces(
  db: Db,
): Promise<Array<{ uid: string; name: string; config: EnvironmentConfig }>> {
  const { rows } = await sql<{ uid: string; name: string; config: EnvironmentConfig }>`
    select uid, name, config from environments order by name collate "C", uid`.execute(db)
  return rows
}

/** When a run that the caller may see was last created with each skill, by the skill's id. */
export async function readLastRuns(db: Db, actor: Pick<Actor, 'principal_id'>): Promise<Map<string, Date>> {
  const { rows } = await sql<{ id: string; last: Date }>`
    select r.resolved -> 'skill' ->> 'id' as id, max(r.created_at) as last from runs r
    where r.skill_spec is not null and r.resolved -> 'skill' is not null
      and ${visibleTo(actor)}
    group by 1`.execute(db)
  return new Map(rows.map(({ id, last }) => [id, last]))
}
