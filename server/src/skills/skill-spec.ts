/** Where a repository is, for people: `acme/site`. */
export interface SkillRepository {
  owner: string
  repo: string
}

export interface FoundSkill extends SkillRepository {
  /** `acme/site:.claude/skills/deploy/SKILL.md` */
  id: string
  name: string
  path: string
}

/** What a spec asks for: `owner/repo:name`, `owner/repo:path/SKILL.md`, `repo:name`, `name`; in place of `owner/repo` its address. */
export interface SkillSpec {
  /** As a person wrote it: with or without its owner. */
  repository: string | null
  /** Of a skill that is named by its place: the path of its SKILL.md. */
  path: string | null
  name: string
}

export function parseSpec(spec: string): SkillSpec | null {
  const { named, rest } = splitSpec(spec.trim())
  const repository = named === null ? null : named.toLowerCase()
  const parts = rest.split('/').filter((part) => part !== '' && part !== '.')
  if (repository === '' || parts.length === 0 || parts.includes('..') || rest.includes('\0')) return null
  const by_path = parts.length > 1 || parts[0] === SKILL_FILE
  if (parts.at(-1) === SKILL_FILE) parts.pop()
  const path = by_path ? [...parts, SKILL_FILE].join('/') : null
  return { repository, path, name: parts.at(-1) ?? '' }
}

/** Addresses as people copy them, `https://host/owner/repo.git:name` and `git@host:owner/repo:name`, have colons of their own. */
const ADDRESSED =
  /^(?:[a-z][a-z+]*:\/\/[^/]+\/|[^@:/\s]+@[^:/]+:)(?<named>[^:]+?)(?:\.git)?\/?:(?<rest>.*)$/is

function splitSpec(spec: string): { named: string | null; rest: string } {
  const { named, rest } = ADDRESSED.exec(spec)?.groups ?? {}
  if (named !== undefined && rest !== undefined) return { named, rest: rest.trim() }
  const colon = spec.indexOf(':')
  return { named: colon === -1 ? null : spec.slice(0, colon).trim(), rest: spec.slice(colon + 1).trim() }
}

export const SKILL_FILE = 'SKILL.md'

export const isNamedBy = ({ repository }: SkillSpec, { owner, repo }: SkillRepository): boolean =>
  repository === null || repository === repo.toLowerCase() || repository === `${owner}/${repo}`.toLowerCase()

const MAX_LISTED = 20

/**
 * The skill that a spec means. Within a repository the folder that comes first wins; between repositories nothing does.
 * `skills` are in the order of the folders.
 */
export function resolveSpec<Skill extends FoundSkill>(
  text: string,
  skills: readonly Skill[],
): { skill: Skill } | { refusal: string } {
  const spec = parseSpec(text)
  if (!spec)
    return {
      refusal: `"${text}" names no skill: write owner/repo:name, owner/repo:path/SKILL.md, repo:name or name.`,
    }
  const meant = skills.filter(
    (skill) =>
      isNamedBy(spec, skill) && (spec.path === null ? skill.name === spec.name : skill.path === spec.path),
  )
  const firsts = meant.filter(
    ({ owner, repo }, at) => meant.findIndex((other) => other.owner === owner && other.repo === repo) === at,
  )
  const [skill, ...others] = firsts
  if (skill && others.length === 0) return { skill }
  if (skill)
    return {
      refusal: `The skill "${text}" is in more than one repository: ${list(firsts)}. Name one of them.`,
    }
  const known = skills.length > 0 ? `There are ${list(skills)}.` : 'Its repositories have none.'
  return { refusal: `The environment has no skill "${text}". ${known}` }
}

const list = (skills: readonly FoundSkill[]): string => {
  const more = skills.length > MAX_LISTED ? ` and ${skills.length - MAX_LISTED} more` : ''
  return `${skills
    .slice(0, MAX_LISTED)
    .map(({ id }) => id)
    .join(', ')}${more}`
}
