import { directoryOf, hostOf, ownerOf, repositoriesOf } from '../contract/environment-repositories.ts'
import type { NewEvent } from '../contract/event.ts'
import type { ResolvedRun } from '../contract/run.ts'
import type { EnvironmentSkills } from '../contract/skill.ts'
import { storableText } from '../contract/storable-text.ts'
import type { Guide, Outcome, SkillBook, StartedSkill } from '../harness/harness.ts'
import {
  type Checkout,
  folderOf,
  type RepositoryContent,
  type RepositorySkill,
  readRepository,
  readSkillFile,
} from '../skills/read-repository.ts'
import { fillArguments } from '../skills/skill-file.ts'
import { isNamedBy, parseSpec, resolveSpec } from '../skills/skill-spec.ts'
import type { RunRow } from '../store/runs.ts'
import { refuse } from './endings.ts'
import type { Workspace } from './prepare.ts'

/** What the repositories of a run say to its agent. */
export interface RunSkills {
  /** The one that the run is started with. */
  skill?: StartedSkill
  attached_skills: StartedSkill[]
  resolved?: NonNullable<ResolvedRun['skill']>
  skills: SkillBook
  guides: Guide[]
  /** All that was found, for whoever lists it. */
  found: EnvironmentSkills
}

const NONE: EnvironmentSkills = { skills: [], malformed: [] }

/** Reads the skills and guides of the run's repositories; `failure`: the skill that it names cannot be had. */
export async function readRunSkills(
  run: Pick<RunRow, 'skill_spec' | 'prompt' | 'config'>,
  workspace: Pick<Workspace, 'config' | 'commits' | 'sandbox'>,
  signal: AbortSignal,
): Promise<RunSkills | { failure: Outcome }> {
  const { sandbox } = workspace
  const checkouts = checkoutsOf(workspace)
  const asked = specsOf(run)
  const contents = await Promise.all(
    checkouts.map((checkout) => {
      const elsewhere = asked.flatMap((text) => {
        const spec = parseSpec(text)
        return spec?.path && isNamedBy(spec, checkout) ? [spec.path] : []
      })
      return readRepository(sandbox, checkout, elsewhere, signal)
    }),
  )
  const all = contents.flatMap(({ skills }) => skills)
  const skills = openBook(all, sandbox, signal)
  const guides = contents.flatMap(({ guide }, at) => {
    const checkout = checkouts[at]
    return guide && checkout ? [{ directory: `/workspace/${checkout.directory}`, ...guide }] : []
  })
  const found = checkouts.length === 0 ? NONE : listFound(contents)
  if (asked.length === 0) return { skills, guides, found, attached_skills: [] }
  if (checkouts.length === 0)
    return refuse(
      'resource_not_found',
      'The run names a skill, and its environment has no repository to find it in.',
    )
  const meant: RepositorySkill[] = []
  for (const text of asked) {
    const one = resolveSpec(text, all)
    if ('refusal' in one) return refuse('resource_not_found', withMalformed(one.refusal, text, contents))
    meant.push(one.skill)
  }
  const start = (skill: RepositorySkill): StartedSkill => ({
    ...{ name: skill.name, directory: directoryIn(skill), files: skill.files },
    text: fillArguments(skill.text, run.prompt),
  })
  const [first, ...others] = meant
  const list = skills.list.filter(({ id }) => !meant.some((skill) => skill.id === id))
  const rest = { skills: { ...skills, list }, guides, found, attached_skills: others.map(start) }
  if (!first) return rest
  const { id, name, description, checkout } = first
  return { ...rest, skill: start(first), resolved: { id, name, description, commit: checkout.commit } }
}

/** The first is the one that the run is known by. */
function specsOf({ skill_spec, config }: Pick<RunRow, 'skill_spec' | 'config'>): string[] {
  if (skill_spec === null) return []
  const [first, ...others] = config.skills ?? []
  return [...new Set([skill_spec, ...(first === skill_spec ? others : (config.skills ?? []))])]
}

/** Repositories that have a commit. */
export function checkoutsOf({ config, commits }: Pick<Workspace, 'config' | 'commits'>): Checkout[] {
  return repositoriesOf(config).flatMap((repository) => {
    const directory = directoryOf(repository)
    const commit = commits[directory]
    return commit ? [{ ...ownerOf(repository), host: hostOf(repository), directory, commit }] : []
  })
}

const directoryIn = ({ checkout, path }: RepositorySkill): string =>
  `/workspace/${checkout.directory}/${folderOf(path)}`

function openBook(
  all: readonly RepositorySkill[],
  sandbox: Workspace['sandbox'],
  signal: AbortSignal,
): SkillBook {
  return {
    list: all.map(({ id, name, description }) => ({ id, name, description })),
    async read(text, file) {
      const meant = resolveSpec(text, all)
      const exact = all.find(({ id }) => id === text)
      const skill = exact ?? ('skill' in meant ? meant.skill : undefined)
      if (!skill) return 'refusal' in meant ? meant : { refusal: 'There is no such skill.' }
      const { files } = skill
      const directory = directoryIn(skill)
      if (file === undefined) return { text: skill.text, files, directory }
      const content = await readSkillFile(sandbox, skill, file, signal)
      return content === null
        ? {
            refusal: `The skill ${skill.name} has no text file ${file}. It has ${files.join(', ') || 'no other files'}.`,
          }
        : { text: content, files, directory }
    },
  }
}

/** What is wrong with a skill that could have been meant. */
function withMalformed(refusal: string, spec: string, contents: readonly RepositoryContent[]): string {
  const malformed = contents.flatMap((content) => content.malformed)
  const meant = resolveSpec(spec, malformed)
  return 'skill' in meant ? `${meant.skill.id} cannot be used. ${meant.skill.error}` : refusal
}

const MAX_TOLD = 20

/** Skills that cannot be used, with the reason: nobody would miss one that is only left out. */
export function describeDropped({ malformed }: EnvironmentSkills): NewEvent[] {
  const tell = (name: string, output: string): NewEvent => ({
    type: 'setup',
    data: { phase: 'skill', name: storableText(name), status: 'failed', output: storableText(output) },
  })
  const more = malformed.length - MAX_TOLD
  return [
    ...malformed.slice(0, MAX_TOLD).map(({ id, error }) => tell(id, `It cannot be used. ${error}`)),
    ...(more > 0
      ? [tell(`${more} more`, 'These skills cannot be used either: runyard skill list --malformed')]
      : []),
  ]
}

/** Of the text of a skill, and of all of an environment, that is listed: lists are read by whoever may read environments. */
const MAX_LISTED_TEXT = 8_192
const MAX_LISTED = 1024 ** 2

export function listFound(contents: readonly RepositoryContent[]): EnvironmentSkills {
  let left = MAX_LISTED
  const shorten = (text: string): string => {
    const cut = text.length > MAX_LISTED_TEXT ? `${text.slice(0, MAX_LISTED_TEXT).toWellFormed()}[…]` : text
    left -= cut.length
    return left < 0 ? '[…]' : cut
  }
  return {
    skills: contents.flatMap(({ skills }) =>
      skills.map(({ id, name, owner, repo, host = null, path, description, text, checkout }) => ({
        ...{ id, name, owner, repo, host, path, description, text: shorten(text), commit: checkout.commit },
      })),
    ),
    malformed: contents.flatMap(({ malformed }) =>
      malformed.map(({ id, name, owner, repo, host = null, path, error }) => ({
        ...{ id, name, owner, repo, host, path, error },
      })),
    ),
  }
}
