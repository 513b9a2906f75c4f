import { useQuery } from '@tanstack/react-query'
import { useAccess } from '../client.ts'
import { environmentsQuery } from '../environments/environment-queries.ts'

/** Agents that the service knows by name; one that this installation does not have is refused when a run asks for it. */
const HARNESSES = ['oz', 'runbook', 'claude', 'codex', 'gemini', 'opencode', 'qwen', 'goose'] as const

/** What a run may be made of here. */
export function useChoices() {
  const { client } = useAccess()
  const environments = useQuery(environmentsQuery(client))
  const models = useQuery({
    queryKey: ['models'],
    queryFn: ({ signal }) => client.models.list({ signal }),
    staleTime: 60_000,
  })
  const skills = useQuery({
    queryKey: ['skills'],
    queryFn: ({ signal }) => client.skills.list({}, { signal }),
    staleTime: 60_000,
  })
  return {
    environments:
      environments.data?.map(({ uid, config }) => ({
        uid,
        name: config.name,
        repositories: (config.repositories ?? []).map(({ url, local_path }) => url ?? local_path ?? ''),
      })) ?? [],
    /** Addresses that environments know. */
    repositories: [
      ...new Set(
        environments.data?.flatMap(({ config }) =>
          (config.repositories ?? []).flatMap(({ url }) => url ?? []),
        ),
      ),
    ],
    models: models.data?.models.map(({ id }) => id) ?? [],
    default_model: models.data?.default_model_id || undefined,
    skills: skills.data?.agents.flatMap(({ variants }) => variants.map(({ id }) => id)) ?? [],
    harnesses: HARNESSES,
  }
}
