import { sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import type { PullRequestStatus } from '../contract/artifact.ts'
import type { EventData } from '../contract/event.ts'
import type { Db } from './db.ts'
import { held, type Lease } from './leases.ts'
import { keepUrl } from './run-urls.ts'
import { visibleTo } from './runs.ts'
import { AT_WORK } from './sql-fragments.ts'
import { json } from './storable.ts'

/** Of which the host is asked whether they are open. */
const MOST_PULLS = 20
const MOST_SHOWN = 100
/** It was pushed by the run itself, which did not find it at another one. */
const isOwn = sql`p.branch = 'runyard/' || r.run_id::text`

/** A branch that a run pushed. */
export type Push = EventData<'changes.pushed'>

/** `tree`: what the commit holds; absent where that is not known. */
export type NewPush = Push & { artifact_uid: string; tree?: string | null }

/** What a commit holds, in a repository. */
export interface Files {
  repository: string
  tree: string
}

/** Stores what was pushed, and its event, in one fenced statement, once however often it is said; false when the lease is lost. */
export async function recordPush(
  db: Db,
  lease: Lease,
  { artifact_uid, tree = null, ...push }: NewPush,
): Promise<boolean> {
  const is_stored = sql`exists (
    select 1 from pushes p where p.run_id = ${lease.run_id}::uuid and p.directory = ${push.directory}
      and p.commit = ${push.commit} and p.url = ${push.url})`
  const recorded = await sql`
    with owned as (
      update runs set last_sequence = last_sequence + 1, updated_at = next_update(updated_at)
      where ${held(lease)} and ${AT_WORK} and not ${is_stored} returning run_id, last_sequence),
    logged as (
      insert into events (run_id, sequence, type, data)
      select run_id, last_sequence, 'changes.pushed', ${json(push)} from owned),
    found_by as (${keepUrl(push.url)})
    insert into pushes (artifact_uid, run_id, directory, repository, branch, commit, url, pull_request, tree, status)
    select ${artifact_uid}::uuid, run_id, ${push.directory}, ${push.repository}, ${push.branch}, ${push.commit}, ${push.url},
      ${push.pull_request?.number ?? null}::int, ${tree}::text, ${push.pull_request ? 'open' : 'unknown'}::text from owned
    on conflict (run_id, directory) do update set repository = excluded.repository, branch = excluded.branch,
      commit = excluded.commit, url = excluded.url, pull_request = excluded.pull_request,
      tree = excluded.tree, status = case when pushes.url = excluded.url and pushes.pull_request is not null then pushes.status else excluded.status end
    returning 1`.execute(db)
  if (recorded.rows.length > 0) return true
  const found = await sql<{ is_stored: boolean }>`select ${is_stored} as is_stored`.execute(db)
  return found.rows[0]?.is_stored ?? false
}

/** What the run pushed last from each of its repositories, by their folders. */
export async function readPushes(db: Db, run_id: string): Promise<Map<string, Push>> {
  const found = await sql<Omit<Push, 'pull_request'> & { pull_request: number | null }>`
    select directory, repository, branch, commit, url, pull_request from pushes where run_id = ${run_id}`.execute(
    db,
  )
  return new Map(
    found.rows.map(({ pull_request, ...push }) => [
      push.directory,
      {
        ...push,
        ...(pull_request === null ? {} : { pull_request: { number: pull_request, url: push.url } }),
      },
    ]),
  )
}

/** A pull request of another run, as it was pushed. */
export interface PushedPull {
  branch: string
  commit: string
  pull_request: { number: number; url: string }
}

/** Pull requests that other runs opened in a repository for these files, the newest first, of those that who executes this run may see. */
export async function findPushedPulls(
  db: Db,
  run_id: string,
  { repository, tree }: Files,
): Promise<PushedPull[]> {
  const { rows } = await sql<PushedPull>`
    select p.branch, p.commit, jsonb_build_object('number', p.pull_request, 'url', p.url) as pull_request
    from pushes p join runs r on r.run_id = p.run_id join runs own on own.run_id = ${run_id}::uuid
    where p.repository = ${repository} and p.tree = ${tree} and p.pull_request is not null
      and r.run_id <> own.run_id and ${isOwn} and ${visibleTo({ principal_id: sql`own.principal_id` })}
    order by p.artifact_uid desc limit ${MOST_PULLS}`.execute(db)
  return rows
}

/** A run that has opened a pull request, and what it pushed last. */
export interface OpenedBy {
  run_id: string
  commit: string
}

/**
 * The newest run that opened a pull request at one of these addresses, among those the actor may see; where `scope` is Team,
 * among runs of the team alone.
 */
export async function findOpenedBy(
  db: Db,
  urls: readonly string[],
  actor: Pick<Actor, 'principal_id'>,
  scope: 'User' | 'Team',
): Promise<OpenedBy | null> {
  if (urls.length === 0) return null
  const { rows } = await sql<OpenedBy>`
    select r.run_id, p.commit from pushes p join runs r on r.run_id = p.run_id
    where p.pull_request is not null and p.url = any(${[...urls]}::text[]) and ${visibleTo(actor)} and ${isOwn}
      ${scope === 'Team' ? sql`and r.scope = 'Team'` : sql``}
    order by r.run_id desc limit 1`.execute(db)
  return rows[0] ?? null
}

/**
 * How a pull request stands, as its host says: of every run that opened it or found it, of those that the actor may see.
 * A merged one stays so: deliveries come late and out of order.
 */
export async function recordPullStatus(
  db: Db,
  url: string,
  status: PullRequestStatus,
  actor: Pick<Actor, 'principal_id'>,
): Promise<void> {
  await sql`
    with told as (
      update pushes p set status = ${status} from runs r
      where p.url = ${url} and p.pull_request is not null and p.status not in (${status}, 'merged') and r.run_id = p.run_id and ${visibleTo(actor)}
      returning p.run_id)
    update runs set updated_at = next_update(updated_at) where run_id in (select run_id from told)`.execute(
    db,
  )
}

/** The pull requests that runs below the same first run opened, of those that the actor may see. */
export async function readPullUrls(db: Db, root_run_id: string, actor: Actor): Promise<string[]> {
  const { rows } = await sql<{ url: string }>`
    select p.url from pushes p join runs r on r.run_id = p.run_id
    where r.root_run_id = ${root_run_id} and p.pull_request is not null and ${visibleTo(actor)}
    group by p.url order by min(p.artifact_uid::text) limit ${MOST_SHOWN}`.execute(db)
  return rows.map(({ url }) => url)
}
