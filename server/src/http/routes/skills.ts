import type { FastifyInstance } from 'fastify'
import { isRepositoryNamed } from '../../contract/environment-repositories.ts'
import { ROUTES } from '../../contract/routes.ts'
import type { AgentSkill, ListSkillsQuery } from '../../contract/skill.ts'
import { readLastRuns, readSkills, type SkillsOfEnvironment } from '../../store/skills.ts'
import type { Services } from '../context.ts'
import { refreshSkills } from '../refresh-skills.ts'
import { serve } from '../route.ts'

type Variant = AgentSkill['variants'][number]

export function serveSkills(app: FastifyInstance, services: Services): void {
  const { store } = services
  serve(app, services, ROUTES.listSkills, async ({ query, actor, reply }) => {
    const left = new AbortController()
    reply.raw.once('close', () => left.abort())
    const not_refreshed = query.refresh ? await refreshSkills(services, query, actor, left.signal) : null
    const [environments, last_runs] = await Promise.all([readSkills(store.db), readLastRuns(store.db, actor)])
    return {
      agents: sort(gather(environments, last_runs, query), query),
      ...(not_refreshed ? { not_refreshed } : {}),
    }
  })
}

/** Skills by name; the same skill of several environments is one variant, as the first of them has it. */
function gather(
  environments: readonly SkillsOfEnvironment[],
  last_runs: ReadonlyMap<string, Date>,
  { repo, include_malformed_skills = false }: ListSkillsQuery,
): AgentSkill[] {
  const variants = new Map<string, Variant>()
  const names = new Map<string, string>()
  for (const { uid, name: environment, found } of environments) {
    const malformed = include_malformed_skills ? found.malformed : []
    for (const skill of [...found.skills, ...malformed]) {
      const { id, name, owner, path } = skill
      if (repo !== undefined && !isRepositoryNamed(repo, skill)) continue
      const variant: Variant = variants.get(id) ?? {
        ...{ id, environments: [], source: { owner, name: skill.repo, skill_path: path } },
        ...('error' in skill
          ? { base_prompt: '', description: '', error: skill.error }
          : { base_prompt: skill.text, description: skill.description }),
        last_run_timestamp: last_runs.get(id)?.toISOString() ?? null,
      }
      variant.environments.push({ uid, name: environment })
      variants.set(id, variant)
      names.set(id, name)
    }
  }
  const agents = new Map<string, AgentSkill>()
  for (const [id, variant] of [...variants].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const name = names.get(id) ?? ''
    const agent = agents.get(name) ?? { name, variants: [] }
    agent.variants.push(variant)
    agents.set(name, agent)
  }
  return [...agents.values()]
}

function sort(agents: AgentSkill[], { sort_by = 'name' }: ListSkillsQuery): AgentSkill[] {
  const by_name = agents.sort((a, b) => (a.name < b.name ? -1 : 1))
  if (sort_by === 'name') return by_name
  const lastOf = ({ variants }: AgentSkill) =>
    variants
      .map(({ last_run_timestamp }) => last_run_timestamp ?? '')
      .sort()
      .at(-1) ?? ''
  // Stable: those that were never run stay in the order of their names.
  return by_name.sort((a, b) => (lastOf(a) === lastOf(b) ? 0 : lastOf(a) > lastOf(b) ? -1 : 1))
}
