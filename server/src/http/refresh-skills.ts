import { setTimeout as wait } from 'node:timers/promises'
import type { z } from 'zod'
import type { Actor } from '../contract/actor.ts'
import { hostOf, isRepositoryNamed, ownerOf, repositoriesOf } from '../contract/environment-repositories.ts'
import { AppError } from '../contract/error.ts'
import type { ListSkillsQuery, ListSkillsResponse } from '../contract/skill.ts'
import { readRefreshes, requestRefreshes } from '../store/skill-refreshes.ts'
import { readSkillPlaces } from '../store/skills.ts'
import type { Services } from './context.ts'

const WAIT_MS = 30_000
const LOOK_MS = 100

type NotRefreshed = NonNullable<z.infer<typeof ListSkillsResponse>['not_refreshed']>

/**
 * Has workers read the repositories again, for who asks, and waits for them; of all environments that have some, or with `repo`
 * of those that have this one. Whatever could not be read in time is named.
 */
export async function refreshSkills(
  { store, watch, settings }: Pick<Services, 'store' | 'watch' | 'settings'>,
  { repo }: ListSkillsQuery,
  { role, principal_id }: Actor,
  gone: AbortSignal,
): Promise<NotRefreshed> {
  if (role === 'viewer')
    throw new AppError('not_authorized', 'refresh: viewers see what is kept, and may have nothing read.')
  const environments = (await readSkillPlaces(store.db)).filter(({ config }) =>
    repositoriesOf(config).some(
      (repository) =>
        repo === undefined || isRepositoryNamed(repo, { ...ownerOf(repository), host: hostOf(repository) }),
    ),
  )
  if (environments.length === 0) return []
  const uids = environments.map(({ uid }) => uid)
  const { default_pool: pool } = settings
  const since = await requestRefreshes(store.db, uids, { principal_id, pool })
  watch.touchPool(pool)
  const deadline = performance.now() + WAIT_MS
  for (;;) {
    const served = await readRefreshes(store.db, uids, since)
    if (served.size === uids.length || performance.now() > deadline || gone.aborted)
      return environments.flatMap(({ uid, name }) => {
        const answer = served.get(uid)
        const reason = answer
          ? answer.problem
          : 'No worker has come to it yet. It is read all the same; ask again.'
        return reason === null ? [] : [{ uid, name, reason }]
      })
    await wait(LOOK_MS)
  }
}
